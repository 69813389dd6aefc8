package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"nimlet/session"
	"nimlet/tooling"
)

// maxPaths is how many paths one glob answers.
const maxPaths = 200

type glob struct{ Config }

type globArgs struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
}

// Spec implements tooling.Tool.
func (t glob) Spec() tooling.Spec {
	return tooling.Spec{
		Name: "glob",
		Description: "Find files by name. ** stands for any number of folders: **/*.go finds Go files at any depth, *.go those of one folder. " +
			"Answers at most 200 paths, the most recently changed first. Files that .gitignore names are left out, unless path leads into them.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"pattern":{"type":"string","minLength":1,"description":"as in **/*_test.go or src/{a,b}/*.ts"},` +
			`"path":{"type":"string","description":"folder to look in (default: the workspace, with its additional folders)"}},` +
			`"required":["pattern"],"additionalProperties":false}`),
		Capabilities: []tooling.Capability{tooling.Read},
		Kind:         tooling.KindSearch,
		Parallel:     true,
	}
}

// Permission implements tooling.Guarded.
func (t glob) Permission(session.Call) tooling.Need { return tooling.Need{Free: true} }

// Describe implements tooling.Describer.
func (t glob) Describe(call session.Call) (string, []session.Location) {
	args, err := decode[globArgs](call)
	if err != nil || args.Pattern == "" {
		return "Find files", nil
	}
	if args.Path == "" {
		return "Find " + args.Pattern, nil
	}
	return "Find " + args.Pattern + " in " + args.Path, t.Workspace.places(args.Path, 0)
}

// Run implements tooling.Tool.
func (t glob) Run(ctx context.Context, _ tooling.Env, call session.Call) (session.Result, error) {
	args, err := decode[globArgs](call)
	if err != nil {
		return failed(err), nil
	}
	out, err := t.find(ctx, args)
	return answer(ctx, session.Result{Output: out}, err)
}

// find answers with the paths that match.
func (t glob) find(ctx context.Context, args globArgs) (string, error) {
	pattern := filepath.ToSlash(args.Pattern)
	if !doublestar.ValidatePattern(pattern) {
		return "", fmt.Errorf("the pattern %q is not a valid one: a bracket or brace is not closed", args.Pattern)
	}
	base, rest := doublestar.SplitPattern(pattern)
	bases, err := t.Workspace.searched(args.Path, base)
	if err != nil {
		return "", err
	}
	found := newest{max: maxPaths}
	for _, b := range bases {
		if err := b.glob(ctx, rest, &found); err != nil {
			return "", err
		}
	}
	note := t.unsavedIn(bases)
	if len(found.files) == 0 {
		return note + "no file matches" + globHint(pattern), nil
	}
	return note + found.String(), nil
}

func globHint(pattern string) string {
	if strings.Contains(pattern, "**") {
		return ""
	}
	return "; " + pattern + " looks in one folder, **/" + pattern + " at any depth"
}

// searched returns the folders that a search below path starts in: the one path names, or with ""
// all of the workspace. base is a path further down in each, "." for none, and may be absolute
// instead. A base that does not exist is left out.
func (w *Workspace) searched(path, base string) ([]Place, error) {
	base = filepath.FromSlash(base)
	from := []string{path}
	switch {
	case filepath.IsAbs(base):
		from = []string{base}
		base = "."
	case path == "":
		from = w.outermost()
	}
	var places []Place
	for _, dir := range from {
		if base != "." && !filepath.IsAbs(dir) {
			dir = filepath.Join(w.Root(), dir)
		}
		p, err := w.Resolve(filepath.Join(dir, base), ForReading)
		if err != nil {
			return nil, err
		}
		if _, err := p.stat(); err == nil {
			places = append(places, p)
		} else if path != "" && base == "." {
			return nil, p.explain("looking in", err)
		}
	}
	return places, nil
}

// outermost is Roots without those that lie in another.
func (w *Workspace) outermost() []string {
	var roots []string
	for i, dir := range w.Roots() {
		inner := false
		for j, other := range w.Roots() {
			_, below := within(other, dir)
			inner = inner || below && (other != dir || j < i)
		}
		if !inner {
			roots = append(roots, dir)
		}
	}
	return roots
}

// glob adds to found the files below p that match pattern; p itself, when it is a file.
func (p Place) glob(ctx context.Context, pattern string, found *newest) error {
	info, err := p.stat()
	if err != nil {
		return p.explain("looking in", err)
	}
	if !info.IsDir() {
		if doublestar.MatchUnvalidated(pattern, filepath.Base(p.Path)) {
			found.add(p.Short, info.ModTime())
		}
		return nil
	}
	if !strings.ContainsAny(pattern, `*?[{\\`) {
		return p.globOne(pattern, found)
	}
	short := shortBase(p)
	w := walk{base: p, visit: func(_ int, b batch) {
		for _, e := range b.files {
			if !doublestar.MatchUnvalidated(pattern, b.path+e.Name()) {
				continue
			}
			if info, err := e.Info(); err == nil {
				found.add(short+b.path+e.Name(), info.ModTime())
			}
		}
	}}
	return w.run(ctx)
}

// globOne adds the one file below p that a pattern without wildcards names, ignored or not.
func (p Place) globOne(name string, found *newest) error {
	info, err := p.in.root.Lstat(filepath.Join(p.rel, filepath.FromSlash(name)))
	if err == nil && !info.IsDir() {
		found.add(shortBase(p)+name, info.ModTime())
	}
	return nil
}

// shortBase is what stands before the path of a file below p when it is shown.
func shortBase(p Place) string {
	if p.Short == "." {
		return ""
	}
	return slashed(p.Short)
}

// A newest keeps the files that were changed last. It is safe for use from several goroutines.
type newest struct {
	max   int
	mu    sync.Mutex
	files []datedFile
	count int // files added
}

type datedFile struct {
	path string
	when time.Time
}

// compare puts the newer file first, and of two as new the one whose path comes first.
func (f datedFile) compare(g datedFile) int {
	return cmp.Or(g.when.Compare(f.when), cmp.Compare(f.path, g.path))
}

func (n *newest) add(path string, when time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.count++
	f := datedFile{path, when}
	if len(n.files) == n.max && f.compare(n.files[n.max-1]) > 0 {
		return
	}
	at, _ := slices.BinarySearchFunc(n.files, f, datedFile.compare)
	n.files = slices.Insert(n.files, at, f)
	n.files = n.files[:min(len(n.files), n.max)]
}

// String lists the paths, and how many more there are.
func (n *newest) String() string {
	var out strings.Builder
	for _, f := range n.files {
		out.WriteString(f.path + "\n")
	}
	if n.count > len(n.files) {
		fmt.Fprintf(&out, "[%d of %d files; narrow the pattern for the others]\n", len(n.files), n.count)
	}
	return out.String()
}
