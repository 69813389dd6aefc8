package builtin

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
)

// An ignores is the rules of one folder's .gitignore, or of a repository's info/exclude, with
// those of the folders around it. nil ignores nothing. The user's global rules are not read: they
// are about the person, and a search must find the same for everyone.
type ignores struct {
	outer *ignores // asked when no rule here matches
	dir   string   // slash path that the rules are relative to, with a slash at its end
	rules []rule   // later ones win
}

type rule struct {
	pattern gitignore.Pattern
	byName  bool // it has no slash, so that only the name counts
}

// maxIgnoreFile bounds a .gitignore, in bytes.
const maxIgnoreFile = 1 << 20

// with returns the rules of text, which stand in the folder dir, before those of g.
func (g *ignores) with(dir, text string) *ignores {
	var rules []rule
	for line := range strings.Lines(text) {
		if r, ok := parseRule(strings.TrimRight(line, "\r\n")); ok {
			rules = append(rules, r)
		}
	}
	if rules == nil {
		return g
	}
	return &ignores{outer: g, dir: dir, rules: rules}
}

func parseRule(line string) (rule, bool) {
	body := strings.TrimSuffix(strings.TrimPrefix(strings.TrimRight(line, " "), "!"), "/")
	if body == "" || strings.HasPrefix(line, "#") {
		return rule{}, false
	}
	// The library knows [^a] but not git's [!a]; and it takes "a/**" for a itself as well, so that
	// "!a/b" behind it would come too late.
	line = strings.ReplaceAll(line, "[!", "[^")
	if inner, all := strings.CutSuffix(line, "/**"); all {
		line = inner + "/*"
	}
	return rule{gitignore.ParsePattern(line, nil), !strings.Contains(body, "/")}, true
}

// match reports whether the entry name of the folder dir (a slash path that ends in a slash) is
// ignored. Its folder is not: an ignored folder is never entered.
func (g *ignores) match(dir, name string, isDir bool) bool {
	names := []string{name}
	for ; g != nil; g = g.outer {
		var path []string
		for i := len(g.rules) - 1; i >= 0; i-- {
			r := g.rules[i]
			against := names
			if !r.byName {
				if path == nil {
					path = strings.Split(dir[len(g.dir):]+name, "/")
				}
				against = path
			}
			switch r.pattern.Match(against, isDir) {
			case gitignore.Exclude:
				return true
			case gitignore.Include:
				return false
			}
		}
	}
	return false
}

// ignoresAround returns the rules that hold in the folder dir, an absolute path, from the top of
// the repository it lies in down to but without its own .gitignore. Outside a repository, and
// when dir is ignored itself and yet asked for, there are none.
func ignoresAround(dir string) *ignores {
	top := repositoryOf(dir)
	if top == "" {
		return nil
	}
	at := slashed(top)
	g := (*ignores)(nil).with(at, readText(filepath.Join(gitDir(top), "info", "exclude")))
	rel, _ := within(top, dir)
	if rel == "." {
		return g
	}
	for name := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		g = g.with(at, readText(filepath.Join(filepath.FromSlash(at), ".gitignore")))
		if g.match(at, name, true) {
			return nil
		}
		at += name + "/"
	}
	return g
}

// slashed is path with slashes, one of them at its end.
func slashed(path string) string {
	return strings.TrimSuffix(filepath.ToSlash(path), "/") + "/"
}

// repositoryOf returns the nearest folder from dir upwards that holds a .git, "" for none.
func repositoryOf(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// gitDir returns the folder in which git keeps what all worktrees of top share.
func gitDir(top string) string {
	dir := filepath.Join(top, ".git")
	if to, ok := strings.CutPrefix(readText(dir), "gitdir: "); ok {
		dir = below(top, strings.TrimSpace(to))
	}
	if common := strings.TrimSpace(readText(filepath.Join(dir, "commondir"))); common != "" {
		dir = below(dir, common)
	}
	return dir
}

func below(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// readText is the content of a small regular file, "" where there is none.
func readText(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := readUpTo(f, nil, maxIgnoreFile)
	if err != nil {
		return ""
	}
	return string(data)
}
