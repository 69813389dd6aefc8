package builtin

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nimlet/tooling"
)

// greps are the ways grep can work on this machine: its own, and ripgrep where it is installed.
func greps(c Config) map[string]grep {
	ways := map[string]grep{"own": {Config: c}}
	if t := newGrep(c); t.ripgrep != "" {
		ways["ripgrep"] = t
	}
	return ways
}

func checkGrep(t *testing.T, c Config, a args, want string) {
	t.Helper()
	for name, tool := range greps(c) {
		if diff := cmp.Diff(want, works(t, tool, a)); diff != "" {
			t.Errorf("%s, %v: %s", name, a, diff)
		}
	}
}

func TestGrep(t *testing.T) {
	c := newConfig(t, map[string]string{
		"a.go": "package a\n\n// TODO: one\nfunc A() {}\n", "b/c.go": "todo two\r\nTODO\r\n", "b/.hidden/x.txt": "TODO hidden\n",
		".git/config": "TODO never\n", "bin.dat": "TODO\x00\n", "wide.txt": "\xff\xfeT\x00O\x00D\x00O\x00", "bom.txt": "\uFEFFTODO bom\n",
		"digits.txt": "١\n1\n", "b/weird:name.txt": "TODO:x\n", "last.txt": "x\nTODO last",
	})
	all := "a.go:3:// TODO: one\nb/.hidden/x.txt:1:TODO hidden\nb/c.go:2:TODO\nb/weird:name.txt:1:TODO:x\nbom.txt:1:TODO bom\nlast.txt:2:TODO last\nwide.txt:1:TODO\n"
	checkGrep(t, c, args{"pattern": "TODO"}, all)
	checkGrep(t, c, args{"pattern": "TODO", "path": "b"}, "b/.hidden/x.txt:1:TODO hidden\nb/c.go:2:TODO\nb/weird:name.txt:1:TODO:x\n")
	checkGrep(t, c, args{"pattern": "TODO", "path": "b/c.go"}, "b/c.go:2:TODO\n")
	checkGrep(t, c, args{"pattern": "^todo", "case_insensitive": true, "glob": "*.go"}, "b/c.go:1:todo two\nb/c.go:2:TODO\n")
	checkGrep(t, c, args{"pattern": "TODO$", "glob": "b/*.go"}, "b/c.go:2:TODO\n")
	checkGrep(t, c, args{"pattern": "TODO", "glob": "**/*.txt", "path": "b"}, "b/.hidden/x.txt:1:TODO hidden\nb/weird:name.txt:1:TODO:x\n")
	checkGrep(t, c, args{"pattern": "TODO", "glob": "*.{go,dat}"}, "a.go:3:// TODO: one\nb/c.go:2:TODO\n")
	checkGrep(t, c, args{"pattern": `^\d$`}, "digits.txt:2:1\n")
	checkGrep(t, c, args{"pattern": `\bone\b|\btwo\b`}, "a.go:3:// TODO: one\nb/c.go:1:todo two\n")
	checkGrep(t, c, args{"pattern": `^TODO bom`}, "bom.txt:1:TODO bom\n")
	checkGrep(t, c, args{"pattern": `x\z`}, "b/weird:name.txt:1:TODO:x\nlast.txt:1:x\n")
	checkGrep(t, c, args{"pattern": `a\nb`}, "no match")
	checkGrep(t, c, args{"pattern": "TODO", "max_matches": 2}, strings.Join(strings.SplitAfter(all, "\n")[:2], "")+"[the first 2 matches; narrow the pattern, glob or path for the others]\n")
	checkGrep(t, c, args{"pattern": "TODO", "max_matches": 7}, all)
	for _, tool := range greps(c) {
		refuses(t, tool, args{"pattern": "(a"}, "missing closing )", "RE2")
		refuses(t, tool, args{"pattern": `(?=a)`}, "RE2")
		refuses(t, tool, args{"pattern": "a", "glob": "[a"}, "glob")
		refuses(t, tool, args{"pattern": "a", "path": "none"}, "none does not exist")
		refuses(t, tool, args{"pattern": "a", "path": "../"}, "outside")
	}
}

func TestGrepCutsLongLines(t *testing.T) {
	c := newConfig(t, map[string]string{"min.js": strings.Repeat("a", 1000) + "needle" + strings.Repeat("b", 900) + "\n", "huge.js": strings.Repeat("x", 3<<20) + "needle\nneedle 2\n"})
	for name, tool := range greps(c) {
		out := works(t, tool, args{"pattern": "needle"})
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if len(lines) != 3 || len(out) > 2000 || !strings.HasPrefix(lines[1], "huge.js:2:needle 2") && !strings.HasPrefix(lines[0], "huge.js:1:") ||
			!strings.Contains(lines[2], "needle") || !strings.Contains(lines[2], "[… line of 1906 bytes]") {
			t.Errorf("%s: got %q", name, out)
		}
	}
}

func TestGrepOfManyFilesIsInOrder(t *testing.T) {
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("d%d/f%03d.txt", i%7, i)] = "x\nmatch\nmatch\n"
	}
	c := newConfig(t, files)
	tool := grep{Config: c}
	first := works(t, tool, args{"pattern": "match", "max_matches": 5})
	want := "d0/f000.txt:2:match\nd0/f000.txt:3:match\nd0/f007.txt:2:match\nd0/f007.txt:3:match\nd0/f014.txt:2:match\n"
	for range 20 {
		if got := works(t, tool, args{"pattern": "match", "max_matches": 5}); !strings.HasPrefix(got, want) || got != first {
			t.Fatalf("got %q", got)
		}
	}
}

func TestSearchOfACancelledTurnEnds(t *testing.T) {
	c := newConfig(t, map[string]string{"a.txt": "a\n"})
	for name, tool := range greps(c) {
		if _, err := tool.Run(cancelled(t), tooling.Env{}, callOf(t, tool, args{"pattern": "a"})); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (glob{c}).Run(cancelled(t), tooling.Env{}, callOf(t, glob{c}, args{"pattern": "**"})); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// What a search is narrowed to, by literals or by a sieve, must hold all that the pattern matches.
func TestScanFindsWhatThePatternFinds(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	patterns := []string{
		"ab", "a+b", "(ab|ba)c?", "(?i)aB", "(?i)kab", "(?i)sk", "a.c", "^a", "b$", "^$", "(a|b)*", "[ab]c", "ab{2}", "(?i:a)b", "aa|bb|cc|KK",
		"x?ab", "(abc)?", `\bab\b`, "é", "(?i)É", "a|", "(?:ab){2,}", "c(a|bb)", "K", "abc", "(?i)abc", "abcK|bca|aab", "[^a]b$", "a[ab]{12}c",
	}
	for range 4000 {
		var text strings.Builder
		for range r.IntN(60) {
			text.WriteString([]string{"a", "b", "c", "A", "B", "k", "K", "\u212a", "ſ", "é", "É", "\n", "\n", " ", "ab", "abc", "\r"}[r.IntN(17)])
		}
		checkScan(t, patterns[r.IntN(len(patterns))], text.String(), 4+r.IntN(30))
	}
}

// checkScan compares a scan with the pattern tried on each line. block is how many bytes are read
// at once, so that lines lie across blocks.
func checkScan(t *testing.T, pattern, text string, block int) {
	t.Helper()
	q, err := newQuery(pattern, "", false)
	if err != nil {
		return
	}
	var want []match
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		line = strings.TrimSuffix(line, "\r")
		if (i < len(lines)-1 || lines[i] != "") && q.pattern.MatchString(line) {
			want = append(want, match{"f", i + 1, q.clip([]byte(line), len(line))})
		}
	}
	found := matches{max: len(lines) + 1}
	s := newScanner(q)
	s.block = make([]byte, block)
	must(t, s.scan(strings.NewReader(text), "f", &found))
	if got, _ := found.first(len(lines)); !cmp.Equal(want, got, cmp.AllowUnexported(match{})) && len(want)+len(got) > 0 {
		t.Fatalf("%q in %q: got %v, want %v", pattern, text, got, want)
	}
}

func FuzzScan(f *testing.F) {
	f.Add("a[bc]+|d{2,3}$", "xabc\ndd\n")
	f.Add(`(?i)\bk\w*\d`, "Kelvin1 \u212a2\r\n")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if strings.Contains(text, "\x00") || strings.Contains(text, bom) || strings.HasPrefix(text, markLE) || strings.HasPrefix(text, markBE) {
			return // no text, or another encoding
		}
		checkScan(t, pattern, text, 16)
	})
}

// A pattern with more states than are kept is still searched for right, and one that has too many
// passes everything on.
func TestSieveForgetsStates(t *testing.T) {
	for pattern, wantFull := range map[string]bool{"a[ab]{6}c": false, "a[ab]{14}c": true} {
		q, err := newQuery(pattern, "", false)
		must(t, err)
		sieve := newSieve(q.tree)
		r := rand.New(rand.NewPCG(5, 6))
		var text strings.Builder
		for range 30_000 {
			text.WriteByte("ab"[r.IntN(2)])
		}
		text.WriteString("abbbbbbbbbbbbbbc\nabbbbbbc")
		sieve.reset([]byte(text.String()))
		at := sieve.find(0)
		if full := sieve.full > maxFull; full != wantFull || len(sieve.rows) > maxStates || !full && text.String()[at] != 'c' || at < 0 {
			t.Errorf("%s: found at %d, %d states, full %d times", pattern, at, len(sieve.rows), sieve.full)
		}
	}
}

func TestRipgrepPattern(t *testing.T) {
	for pattern, want := range map[string]string{
		`foo\d+`: `foo[0-9]+`, `\bfoo`: `(?-u:\b)foo`, `a\\b`: `a\\b`, `[^\n]x`: `[^\n]x`, `\Afoo`: "", `foo\z`: "", `a\nb`: "", `\Bx`: "",
	} {
		q, err := newQuery(pattern, "", false)
		must(t, err)
		if got, ok := q.ripgrepPattern(); got != want || ok != (want != "") {
			t.Errorf("%s: got %q, %v; want %q", pattern, got, ok, want)
		}
	}
}

// ignoreCase is a repository in which what git ignores is known from git itself.
var ignoredFiles = map[string]string{
	".gitignore":        "*.log\n!keep.log\n/build/\nnode_modules\n# a comment\n\\#odd\n[!a]only.txt\ndocs/**\n!docs/keep.md\n**/deep/skip\ntrailing \nsub/*.tmp\n",
	"sub/.gitignore":    "!special.log\nlocal\n/anchored\n",
	".git/info/exclude": "private\n",
	"a.log":             "", "keep.log": "", "build/x": "", "sub/build/x": "", "node_modules/m/x.js": "", "sub/node_modules/x.js": "",
	"#odd": "", "bonly.txt": "", "aonly.txt": "", "docs/keep.md": "", "docs/x.md": "", "docs/in/x.md": "", "x/deep/skip": "", "deep/skip/y": "",
	"trailing": "", "sub/a.tmp": "", "sub/in/a.tmp": "", "sub/special.log": "", "sub/other.log": "", "sub/local/x": "", "sub/in/local": "",
	"sub/anchored": "", "sub/in/anchored": "", "private": "", "sub/private": "", ".hidden": "", "plain.go": "",
}

// gitFiles is what git itself lists below dir.
func gitFiles(t *testing.T, dir string) []string {
	t.Helper()
	cmd := exec.Command("git", "-c", "core.excludesFile=", "ls-files", "--others", "--cached", "--exclude-standard", "-z")
	cmd.Dir = dir
	out, err := cmd.Output()
	must(t, err)
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

func newRepository(t *testing.T, files map[string]string) Config {
	t.Helper()
	c := newConfig(t, nil)
	cmd := exec.Command("git", "init", "-q")
	cmd.Dir = c.Workspace.Root()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	for name, content := range files {
		if content == "" {
			files[name] = "text\n"
		}
	}
	fillFolder(t, c.Workspace.Root(), files)
	return c
}

func TestSearchesIgnoreWhatGitIgnores(t *testing.T) {
	c := newRepository(t, ignoredFiles)
	for _, dir := range []string{"", "sub", "sub/in", "docs"} {
		want := map[string]bool{}
		for _, path := range gitFiles(t, filepath.Join(c.Workspace.Root(), dir)) {
			want[strings.TrimPrefix(dir+"/"+path, "/")] = true
		}
		got := map[string]bool{}
		for path := range strings.SplitSeq(works(t, glob{c}, args{"pattern": "**", "path": or(dir, ".")}), "\n") {
			if path != "" {
				got[path] = true
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("glob in %q: %s", dir, diff)
		}
		for name, tool := range greps(c) {
			found := map[string]bool{}
			for line := range strings.SplitSeq(works(t, tool, args{"pattern": "", "path": or(dir, "."), "max_matches": 200}), "\n") {
				if path, _, ok := strings.Cut(line, ":"); ok {
					found[path] = true
				}
			}
			if diff := cmp.Diff(want, found); diff != "" {
				t.Errorf("grep (%s) in %q: %s", name, dir, diff)
			}
		}
	}
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func TestIgnoredFolderIsSearchedWhenAskedFor(t *testing.T) {
	c := newRepository(t, map[string]string{".gitignore": "node_modules/\n/dist/**\n.env\n", "node_modules/m/x.js": "needle\n", "dist/a/b.js": "needle\n", ".env": "needle\n"})
	checkGrep(t, c, args{"pattern": "needle"}, "no match")
	checkGrep(t, c, args{"pattern": "needle", "path": "node_modules"}, "node_modules/m/x.js:1:needle\n")
	checkGrep(t, c, args{"pattern": "needle", "path": "dist/a"}, "dist/a/b.js:1:needle\n")
	checkGrep(t, c, args{"pattern": "needle", "path": ".env"}, ".env:1:needle\n")
	for pattern, want := range map[string]string{"node_modules/**/*.js": "node_modules/m/x.js\n", ".env": ".env\n", "*": ".gitignore\n"} {
		if got := works(t, glob{c}, args{"pattern": pattern}); got != want {
			t.Errorf("%s: got %q, want %q", pattern, got, want)
		}
	}
}

func TestWorktreeAndNestedRepositoryHaveTheirOwnRules(t *testing.T) {
	c := newRepository(t, map[string]string{".gitignore": "*.tmp\n", ".git/info/exclude": "secret\n", "a.tmp": "", "secret": "", "in/.git/info/exclude": "inner\n", "in/a.tmp": "", "in/secret": "", "in/inner": ""})
	root := c.Workspace.Root()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e@example.org"}, args...)...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	git("add", ".gitignore")
	git("commit", "-q", "-m", "first")
	git("worktree", "add", "-q", "tree")
	fillFolder(t, root, map[string]string{"tree/secret": "", "tree/b.tmp": "", "tree/c.go": ""})
	got := strings.Split(strings.TrimSpace(works(t, glob{c}, args{"pattern": "**"})), "\n")
	want := map[string]bool{".gitignore": true, "in/a.tmp": true, "in/secret": true, "tree/.gitignore": true, "tree/c.go": true}
	for _, path := range got {
		if !want[path] {
			t.Errorf("%s is listed", path)
		}
		delete(want, path)
	}
	if len(want) > 0 {
		t.Errorf("not listed: %v", want)
	}
}

func TestGlob(t *testing.T) {
	c := newConfig(t, map[string]string{"a.go": "", "b.txt": "", "x/c.go": "", "x/y/d.go": "", "x/y/e.ts": ""})
	root := c.Workspace.Root()
	for i, name := range []string{"x/y/d.go", "a.go", "x/c.go", "b.txt", "x/y/e.ts"} {
		setTime(t, filepath.Join(root, name), 1_000_000_000-i)
	}
	for pattern, want := range map[string]string{
		"**/*.go": "x/y/d.go a.go x/c.go", "*.go": "a.go", "x/*": "x/c.go", "x/**/*.{go,ts}": "x/y/d.go x/c.go x/y/e.ts", "**": "x/y/d.go a.go x/c.go b.txt x/y/e.ts",
		"a.go": "a.go", "x/y/d.go": "x/y/d.go", filepath.ToSlash(root) + "/x/*.go": "x/c.go", "./*.txt": "b.txt", "**/[cd].go": "x/y/d.go x/c.go",
	} {
		if got := strings.Join(strings.Fields(works(t, glob{c}, args{"pattern": pattern})), " "); got != want {
			t.Errorf("%s: got %s, want %s", pattern, got, want)
		}
	}
	if got := works(t, glob{c}, args{"pattern": "*.go", "path": "x/y"}); got != "x/y/d.go\n" {
		t.Errorf("got %q", got)
	}
	if got := works(t, glob{c}, args{"pattern": "d.go"}); !strings.Contains(got, "no file matches") || !strings.Contains(got, "**/d.go") {
		t.Errorf("got %q", got)
	}
	refuses(t, glob{c}, args{"pattern": "[a"}, "not closed")
	refuses(t, glob{c}, args{"pattern": "../*"}, "outside")
	refuses(t, glob{c}, args{"pattern": "*", "path": "none"}, "none does not exist")
}

func setTime(t *testing.T, path string, seconds int) {
	t.Helper()
	when := time.Unix(int64(seconds), 0)
	must(t, os.Chtimes(path, when, when))
}

func TestGlobSaysThatThereAreMore(t *testing.T) {
	files := map[string]string{}
	for i := range 250 {
		files[fmt.Sprintf("f%03d", i)] = ""
	}
	c := newConfig(t, files)
	setTime(t, filepath.Join(c.Workspace.Root(), "f249"), 4_000_000_000)
	out := works(t, glob{c}, args{"pattern": "*"})
	if lines := strings.Split(strings.TrimSpace(out), "\n"); len(lines) != 201 || lines[0] != "f249" || !strings.Contains(lines[200], "200 of 250") {
		t.Errorf("got %d lines, %q first, %q last", len(lines), lines[0], lines[len(lines)-1])
	}
}

func TestSearchCoversAllFoldersOfTheWorkspace(t *testing.T) {
	c := newConfig(t, map[string]string{"a.go": "x\n", "in/b.go": "x\n"})
	extra := realTemp(t)
	fillFolder(t, extra, map[string]string{"c.go": "x\n"})
	w, err := NewWorkspace(c.Workspace.Root(), []string{extra, filepath.Join(c.Workspace.Root(), "in"), extra})
	must(t, err)
	defer w.Close()
	c.Workspace = w
	far := filepath.ToSlash(filepath.Join(extra, "c.go"))
	checkGrep(t, c, args{"pattern": "x"}, "a.go:1:x\nin/b.go:1:x\n"+far+":1:x\n")
	if got := works(t, glob{c}, args{"pattern": "**/*.go"}); strings.Count(got, "\n") != 3 || !strings.Contains(got, far) {
		t.Errorf("got %q", got)
	}
}

// A link is listed but leads a search nowhere, least of all in a circle or out of the workspace.
func TestSearchesDoNotFollowLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		return
	}
	outside := realTemp(t)
	fillFolder(t, outside, map[string]string{"s.txt": "needle\n"})
	c := newConfig(t, map[string]string{"a/f.txt": "needle\n"})
	root := c.Workspace.Root()
	must(t, os.Symlink("..", filepath.Join(root, "a", "up")))
	must(t, os.Symlink(outside, filepath.Join(root, "out")))
	must(t, os.Symlink(filepath.Join(outside, "s.txt"), filepath.Join(root, "s.txt")))
	checkGrep(t, c, args{"pattern": "needle"}, "a/f.txt:1:needle\n")
}
