package builtin

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nimlet/tooling"
)

// gitIn runs git as its user does, with a config of its own.
func gitIn(t *testing.T, dir string, words ...string) string {
	t.Helper()
	cmd := exec.Command("git", words...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=a@b",
		"GIT_AUTHOR_DATE=2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", words, err, out)
	}
	return strings.TrimSpace(string(out))
}

// newRepo is a workspace with two commits: a.txt is "one", then "one\ntwo", beside sub/b.txt.
func newRepo(t *testing.T) Config {
	t.Helper()
	c := newConfig(t, map[string]string{"a.txt": "one\n", "sub/b.txt": "b\n"})
	dir := c.Workspace.Root()
	gitIn(t, dir, "init", "-q", "-b", "main")
	gitIn(t, dir, "add", ".")
	gitIn(t, dir, "commit", "-q", "-m", "first commit")
	fillFolder(t, dir, map[string]string{"a.txt": "one\ntwo\n"})
	gitIn(t, dir, "commit", "-q", "-a", "-m", "second commit\n\nwith a body")
	return c
}

// has fails unless text holds each of want, and none of those after a "!".
func has(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		absent, not := strings.CutPrefix(w, "!")
		if strings.Contains(text, absent) == not {
			t.Errorf("want %q in\n%s", w, text)
		}
	}
}

func TestGitOperations(t *testing.T) {
	c := newRepo(t)
	dir := c.Workspace.Root()
	tool := newGit(c)
	has(t, works(t, tool, args{"operation": "status"}), "## main\n", "!a.txt")
	has(t, works(t, tool, args{"operation": "diff"}), "no differences")
	fillFolder(t, dir, map[string]string{"a.txt": "one\n2\n", "sub/b.txt": "B\n", "new ü.txt": ""})
	gitIn(t, dir, "add", "sub")
	has(t, works(t, tool, args{"operation": "status"}), " M a.txt\n", "M  sub/b.txt\n", "new ü.txt")
	has(t, works(t, tool, args{"operation": "diff"}), "-two\n+2\n", "-b\n+B\n")
	has(t, works(t, tool, args{"operation": "diff", "path": "sub"}), "-b\n+B\n", "!two")
	has(t, works(t, tool, args{"operation": "diff", "commit": "HEAD~1..HEAD"}), "+two\n", "!B")
	has(t, works(t, tool, args{"operation": "diff", "commit": "HEAD~1", "path": "a.txt"}), "+2\n", "!B")
	has(t, works(t, tool, args{"operation": "diff", "limit": 1}), "diff --git", "!+2", "there is more")
	has(t, works(t, tool, args{"operation": "log"}), "Ada: (HEAD -> main) second commit\n", "first commit")
	has(t, works(t, tool, args{"operation": "log", "limit": 1}), "second commit", "!first")
	has(t, works(t, tool, args{"operation": "log", "path": "sub/b.txt"}), "first commit", "!second")
	has(t, works(t, tool, args{"operation": "log", "commit": "HEAD~1"}), "first commit", "!second")
	has(t, works(t, tool, args{"operation": "log", "commit": "HEAD~1..main"}), "second commit", "!first")
	has(t, works(t, tool, args{"operation": "log", "commit": "HEAD..HEAD"}), "no commits")
	has(t, works(t, tool, args{"operation": "show"}), "second commit", "with a body", "+two")
	has(t, works(t, tool, args{"operation": "show", "commit": "main~1"}), "first commit", "+one")
	has(t, works(t, tool, args{"operation": "show", "commit": "HEAD~1:a.txt"}), "one\n", "!two")
	has(t, works(t, tool, args{"operation": "blame", "path": "a.txt"}), "Ada", "1) one", "Not Committed Yet")
	has(t, works(t, tool, args{"operation": "blame", "path": "a.txt", "limit": 1}), "1) one", "!2)")
	has(t, works(t, tool, args{"operation": "blame", "path": "a.txt", "commit": "HEAD"}), "2) two", "!Not Committed")
}

func TestGitOfWhatIsGone(t *testing.T) {
	c := newRepo(t)
	gitIn(t, c.Workspace.Root(), "rm", "-q", "-r", "sub")
	has(t, works(t, newGit(c), args{"operation": "log", "path": "sub/b.txt"}), "first commit")
	has(t, works(t, newGit(c), args{"operation": "diff", "path": "sub/b.txt"}), "-b\n")
	has(t, works(t, newGit(c), args{"operation": "blame", "path": "sub/b.txt", "commit": "HEAD"}), "1) b")
}

func TestGitRefuses(t *testing.T) {
	c := newRepo(t)
	tool := newGit(c)
	canary := filepath.Join(t.TempDir(), "canary")
	for _, operation := range []string{"log", "show", "diff", "blame"} {
		for _, commit := range []string{"--output=" + canary, "-O" + canary, "HEAD --output=" + canary, "nowhere", "HEAD~1..--output=" + canary, "HEAD...-x", "--"} {
			refuses(t, tool, args{"operation": operation, "commit": commit, "path": "a.txt"})
		}
	}
	for _, path := range []string{"..", "/etc", "../x", "sub/../../x"} {
		refuses(t, tool, args{"operation": "log", "path": path}, "outside the workspace")
	}
	// Paths that are options or magic are files that do not exist.
	for _, path := range []string{"--output=" + filepath.Base(canary), ":(top)", ":/", ":!a.txt", "*"} {
		has(t, works(t, tool, args{"operation": "log", "path": path}), "no commits")
	}
	refuses(t, tool, args{"operation": "blame"}, "needs a path")
	refuses(t, tool, args{"operation": "status", "commit": "HEAD"}, "no commit")
	refuses(t, tool, args{"operation": "push"}, "no operation")
	if _, err := os.Stat(canary); err == nil {
		t.Error("an argument became an option")
	}
	plain := newConfig(t, nil)
	plain.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(plain.Workspace.Root()))
	refuses(t, newGit(plain), args{"operation": "status"}, "not a git repository")
}

func TestGitOfARepositoryWithoutCommits(t *testing.T) {
	c := newConfig(t, map[string]string{"a.txt": "one\n"})
	gitIn(t, c.Workspace.Root(), "init", "-q", "-b", "main")
	has(t, works(t, newGit(c), args{"operation": "status"}), "No commits yet", "?? a.txt")
	has(t, works(t, newGit(c), args{"operation": "diff"}), "no differences")
	refuses(t, newGit(c), args{"operation": "log"}, "does not have any commits")
}

func TestGitStaysInTheWorkspace(t *testing.T) {
	dir := realTemp(t)
	fillFolder(t, dir, map[string]string{"ws/in.txt": "in\n", "out.txt": "out\n"})
	gitIn(t, dir, "init", "-q", "-b", "main")
	gitIn(t, dir, "add", ".")
	gitIn(t, dir, "commit", "-q", "-m", "first")
	fillFolder(t, dir, map[string]string{"ws/in.txt": "IN\n", "out.txt": "OUT\n"})
	w, err := NewWorkspace(filepath.Join(dir, "ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, operation := range []string{"status", "diff"} {
		has(t, works(t, newGit(Config{Workspace: w}), args{"operation": operation}), "in.txt", "!out.txt")
	}
}

// A repository inside of the workspace is the one that its files belong to.
func TestGitOfAnInnerRepository(t *testing.T) {
	c := newRepo(t)
	inner := filepath.Join(c.Workspace.Root(), "inner")
	fillFolder(t, inner, map[string]string{"c.txt": "c\n"})
	gitIn(t, inner, "init", "-q", "-b", "main")
	gitIn(t, inner, "add", ".")
	gitIn(t, inner, "commit", "-q", "-m", "inner commit")
	has(t, works(t, newGit(c), args{"operation": "log", "path": "inner/c.txt"}), "inner commit", "!second")
	has(t, works(t, newGit(c), args{"operation": "log", "path": "inner"}), "inner commit")
}

func TestGitBoundsItsAnswer(t *testing.T) {
	c := newRepo(t)
	fillFolder(t, c.Workspace.Root(), map[string]string{"a.txt": strings.Repeat("a long line of text\n", 100_000)})
	c.MaxOutput = 5000
	text := works(t, newGit(c), args{"operation": "diff"})
	has(t, text, "there is more")
	if len(text) > 5100 {
		t.Errorf("%d bytes", len(text))
	}
}

func TestGitIsFreeAndKeptToReading(t *testing.T) {
	tool := newGit(newRepo(t))
	if !tool.(tooling.Guarded).Permission(callOf(t, tool, args{"operation": "log"})).Free || !tool.Spec().PlanSafe() {
		t.Error("git asks, or plan mode does not have it")
	}
}

// hostile makes the repository run canary, a program, wherever its config can name one.
func hostile(t *testing.T, dir, canary string) {
	t.Helper()
	set := func(key, value string) { gitIn(t, dir, "config", key, value) }
	for _, key := range []string{
		"core.fsmonitor", "core.pager", "core.editor", "core.askPass", "core.sshCommand", "core.gitProxy", "core.alternateRefsCommand",
		"credential.helper", "diff.external", "sequence.editor", "interactive.diffFilter",
		"gpg.program", "gpg.openpgp.program", "gpg.x509.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand",
		"pager.log", "pager.show", "pager.diff", "pager.status", "pager.blame",
		"diff.evil.command", "diff.evil.textconv", "merge.evil.driver", "filter.evil.clean", "filter.evil.smudge", "filter.Two.x.process",
		"remote.origin.uploadpack", "remote.origin.receivepack",
	} {
		set(key, canary)
	}
	for _, operation := range []string{"status", "log", "show", "diff", "blame", "rev-parse", "config"} {
		set("alias."+operation, "!"+canary)
	}
	set("filter.evil.required", "true")
	set("filter.Two.x.required", "true")
	set("log.showSignature", "true")
	set("log.diffMerges", "remerge")
	set("format.pretty", "%G? %h")
	set("diff.submodule", "diff")
	set("submodule.recurse", "true")
	set("status.submoduleSummary", "true")
	set("protocol.allow", "always")
	set("protocol.ext.allow", "always")
	set("protocol.file.allow", "always")
	set("core.hooksPath", filepath.Join(dir, "hooks"))
	for _, hook := range []string{"post-index-change", "fsmonitor-watchman", "pre-auto-gc", "reference-transaction", "post-checkout"} {
		copyProgram(t, canary, filepath.Join(dir, "hooks", hook))
		copyProgram(t, canary, filepath.Join(dir, ".git", "hooks", hook))
	}
}

func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o777); err != nil {
		t.Fatal(err)
	}
}

// newHostileRepo is a workspace whose repository runs whatever it can; the program leaves a line
// in the file sung.
func newHostileRepo(t *testing.T) (c Config, sung string) {
	t.Helper()
	tools := realTemp(t)
	sung = filepath.Join(tools, "sung")
	canary := filepath.Join(tools, "canary")
	if err := os.WriteFile(canary, fmt.Appendf(nil, "#!/bin/sh\necho \"$0 $*\" >> '%s'\ncat 2>/dev/null\n", sung), 0o777); err != nil {
		t.Fatal(err)
	}
	c = newRepo(t)
	dir := c.Workspace.Root()
	addSubmodule(t, dir, canary)
	addMerge(t, dir)
	fillFolder(t, dir, map[string]string{
		".gitattributes": "* diff=evil merge=evil\na.txt filter=evil\nsub/b.txt filter=Two.x\n",
		"a.txt":          "one\n2\n", "sub/b.txt": "B\n", "new.txt": "",
	})
	hostile(t, dir, canary)
	fillFolder(t, filepath.Join(dir, ".git", "info"), map[string]string{"attributes": "* diff=evil\n"})
	return c, sung
}

// addSubmodule commits a submodule that has a config of its own, and changes it afterwards.
func addSubmodule(t *testing.T, dir, canary string) {
	t.Helper()
	source := realTemp(t)
	fillFolder(t, source, map[string]string{"s.txt": "s\n"})
	gitIn(t, source, "init", "-q", "-b", "main")
	gitIn(t, source, "add", ".")
	gitIn(t, source, "commit", "-q", "-m", "sub")
	gitIn(t, dir, "-c", "protocol.file.allow=always", "submodule", "-q", "add", source, "mod")
	gitIn(t, dir, "commit", "-q", "-m", "add a submodule")
	mod := filepath.Join(dir, "mod")
	fillFolder(t, mod, map[string]string{"s.txt": "S\n", ".gitattributes": "* filter=evil diff=evil\n"})
	gitIn(t, mod, "config", "filter.evil.clean", canary)
	gitIn(t, mod, "config", "diff.evil.textconv", canary)
	gitIn(t, mod, "config", "core.fsmonitor", canary)
}

// addMerge commits a merge whose files were merged by hand, as a remerge would find.
func addMerge(t *testing.T, dir string) {
	t.Helper()
	gitIn(t, dir, "checkout", "-q", "-b", "side", "HEAD~1")
	fillFolder(t, dir, map[string]string{"a.txt": "side\n"})
	gitIn(t, dir, "commit", "-q", "-a", "-m", "side")
	gitIn(t, dir, "checkout", "-q", "main")
	fillFolder(t, dir, map[string]string{"a.txt": "main\n"})
	gitIn(t, dir, "commit", "-q", "-a", "-m", "main")
	gitIn(t, dir, "merge", "-q", "-s", "ours", "-m", "merge", "side")
	sign(t, dir)
}

// sign makes the last commit one with a signature, which only gpg can tell from a true one.
func sign(t *testing.T, dir string) {
	t.Helper()
	head, message, _ := strings.Cut(gitIn(t, dir, "cat-file", "commit", "HEAD"), "\n\n")
	file := filepath.Join(t.TempDir(), "commit")
	signed := head + "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n abcd\n -----END PGP SIGNATURE-----\n\n" + message + "\n"
	if err := os.WriteFile(file, []byte(signed), 0o666); err != nil {
		t.Fatal(err)
	}
	gitIn(t, dir, "reset", "-q", "--hard", gitIn(t, dir, "hash-object", "-t", "commit", "-w", file))
}

// heard returns what the canary has sung since.
func heard(t *testing.T, sung string) string {
	t.Helper()
	text, err := os.ReadFile(sung)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if err := os.RemoveAll(sung); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestGitRunsNothingThatARepositoryNames(t *testing.T) {
	c, sung := newHostileRepo(t)
	dir := c.Workspace.Root()
	// The repository does run programs where nothing keeps git from it, so silence means something.
	for _, words := range [][]string{{"status"}, {"diff"}, {"diff", "--no-ext-diff"}, {"log", "-1"}, {"log", "-p", "-3", "--ext-diff"}, {"log", "-p", "-3", "--no-ext-diff", "--no-textconv", "--format=%h"}, {"show"}, {"blame", "a.txt"}} {
		cmd := exec.Command("git", words...)
		cmd.Dir = dir
		out, _ := cmd.CombinedOutput() // it may fail, as the canary is no filter
		if heard(t, sung) == "" {
			t.Errorf("git %q of the hostile repository runs nothing by itself: %s", words, out)
		}
	}
	tool := newGit(c)
	for _, operation := range []string{"status", "log", "show", "diff", "blame"} {
		for _, commit := range []string{"", "HEAD~2..HEAD"} {
			for _, path := range []string{"", "a.txt", "sub", "mod"} {
				a := args{"operation": operation}
				if commit != "" {
					a["commit"] = commit
				}
				if path != "" {
					a["path"] = path
				}
				run(t, tool, a) // some are refused
				if song := heard(t, sung); song != "" {
					t.Errorf("%v ran %s", a, song)
				}
			}
		}
	}
	has(t, works(t, tool, args{"operation": "status"}), " M a.txt", " M sub/b.txt")
	has(t, works(t, tool, args{"operation": "diff"}), "+2\n", "+B\n")
	has(t, works(t, tool, args{"operation": "blame", "path": "a.txt"}), "2) 2")
}

// A partial clone fetches what it lacks in the middle of any operation.
func TestGitFetchesNothing(t *testing.T) {
	source := newRepo(t).Workspace.Root()
	gitIn(t, source, "config", "uploadpack.allowFilter", "true")
	c, tools := newConfig(t, nil), realTemp(t)
	dir := c.Workspace.Root()
	gitIn(t, dir, "clone", "-q", "--filter=blob:none", "--no-checkout", "file://"+filepath.ToSlash(source), ".")
	sung := filepath.Join(tools, "sung")
	canary := filepath.Join(tools, "canary")
	if err := os.WriteFile(canary, fmt.Appendf(nil, "#!/bin/sh\necho \"$0 $*\" >> '%s'\n", sung), 0o777); err != nil {
		t.Fatal(err)
	}
	gitIn(t, dir, "config", "remote.origin.uploadpack", canary)
	gitIn(t, dir, "config", "protocol.file.allow", "always")
	cmd := exec.Command("git", "show", "HEAD")
	cmd.Dir = dir
	_ = cmd.Run() // it fails, as the canary sends no pack
	if heard(t, sung) == "" {
		t.Error("git by itself does not fetch, so this test shows nothing")
	}
	for _, url := range []string{"file://" + filepath.ToSlash(source), "ext::" + canary, "canary::x"} {
		gitIn(t, dir, "config", "remote.origin.url", url)
		for _, operation := range []string{"show", "diff", "blame", "log", "status"} {
			run(t, newGit(c), args{"operation": operation, "path": "a.txt"})
			if song := heard(t, sung); song != "" {
				t.Errorf("%s with %s ran %s", operation, url, song)
			}
		}
	}
}

func TestGitRefusesAFilterThatCannotBeKeptFromRunning(t *testing.T) {
	c := newRepo(t)
	gitIn(t, c.Workspace.Root(), "config", "filter.a=b.clean", "false")
	refuses(t, newGit(c), args{"operation": "status"}, "a=b")
}
