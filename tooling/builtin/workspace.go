package builtin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// A Workspace is the folders that tools may touch: the session's own, its additional ones, and
// some that may only be read. It is safe for use from several goroutines.
type Workspace struct {
	roots []*folder // the session's own first; never changes

	mu       sync.Mutex
	guarded  []string           // given to Protect
	readable []string           // given to AllowRead, in that order
	opened   map[string]*folder // those of readable that were there, by resolved path
	closed   bool
}

// A folder is one tree of a Workspace, held open: what is done below it cannot leave it.
type folder struct {
	name string // as it was given, cleaned; the editor spells paths this way
	path string // links resolved
	root *os.Root
}

// A Use says what a path is wanted for.
type Use int

// The uses. Folders given to AllowRead are for reading alone.
const (
	ForReading Use = iota
	ForWriting
)

// A Place is a path that Resolve has let through. What is done with it goes through its folder.
type Place struct {
	Path  string // absolute, links resolved
	Name  string // the same, spelled as the folder it lies in was given: for the editor
	Short string // for people and models: relative to the workspace with slashes, else absolute
	Asked string // the absolute path that was asked for, links and all

	in  *folder
	rel string // below in; "." for the folder itself
}

// NewWorkspace opens the folders a session may touch: cwd, which relative paths start from, and
// the extra ones. Each must be an absolute path of a folder that exists; an error names the one
// that is not.
func NewWorkspace(cwd string, extra []string) (*Workspace, error) {
	w := &Workspace{opened: map[string]*folder{}}
	for _, dir := range append([]string{cwd}, extra...) {
		f, err := openFolder(dir)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("opening the workspace folder %q: %w", dir, err), w.Close())
		}
		w.roots = append(w.roots, f)
	}
	return w, nil
}

func openFolder(dir string) (*folder, error) {
	name := filepath.Clean(plainSpelling(dir))
	if !filepath.IsAbs(name) {
		return nil, errors.New("not an absolute path")
	}
	path, err := filepath.EvalSymlinks(name)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &folder{name: name, path: path, root: root}, nil
}

// Close lets the folders go. Nothing of w may be used afterwards.
func (w *Workspace) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	var errs []error
	for _, f := range w.roots {
		errs = append(errs, f.root.Close())
	}
	for _, f := range w.opened {
		errs = append(errs, f.root.Close())
	}
	clear(w.opened)
	return errors.Join(errs...)
}

// Root is the folder relative paths start from, links resolved.
func (w *Workspace) Root() string { return w.roots[0].path }

// Roots is Root and the additional folders, links resolved.
func (w *Workspace) Roots() []string {
	var paths []string
	for _, f := range w.roots {
		paths = append(paths, f.path)
	}
	return paths
}

// AllowRead adds folders that may be read and searched but not written: the session's output
// folder, the folders of skills. One that does not exist is looked for again when it is needed.
func (w *Workspace) AllowRead(dirs ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.readable = append(w.readable, dirs...)
}

// Resolve decides whether path may be used, and how it is reached. A relative path starts at
// Root; links are resolved, also those on the way to a file that does not exist yet. A refusal
// names the path, where it leads and the folders that are allowed.
func (w *Workspace) Resolve(path string, use Use) (Place, error) {
	asked, err := w.spell(path)
	if err != nil {
		return Place{}, err
	}
	real, err := resolveLinks(asked, 0)
	if err != nil {
		// What lies outside is refused as such, whether or not it exists.
		if w.find(asked, use) != nil {
			return Place{}, fmt.Errorf("resolving %q: %w", path, err)
		}
		real = asked
	}
	f := w.find(real, use)
	if f == nil {
		return Place{}, w.refusal(path, asked, real, use)
	}
	rel, _ := within(f.path, real)
	p := Place{Path: filepath.Join(f.path, rel), Name: filepath.Join(f.name, rel), Asked: asked, in: f, rel: rel}
	p.Short = p.Name
	if short, below := within(w.roots[0].path, real); below {
		p.Short = filepath.ToSlash(short)
	}
	return p, nil
}

// spell makes path absolute and clean, and refuses spellings that name something else than they
// seem to.
func (w *Workspace) spell(path string) (string, error) {
	if path == "" {
		return "", errors.New("the path is empty")
	}
	if strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("the path %q contains a NUL byte", path)
	}
	path = plainSpelling(path)
	if !filepath.IsAbs(path) {
		if filepath.VolumeName(path) != "" || os.IsPathSeparator(path[0]) {
			return "", fmt.Errorf("the path %q is neither relative nor absolute; give it whole, with its drive", path)
		}
		path = filepath.Join(w.roots[0].path, path)
	}
	path = filepath.Clean(path)
	return path, misleading(path)
}

// find returns the folder that the resolved path lies in, nil when there is none.
func (w *Workspace) find(path string, use Use) *folder {
	for _, f := range w.roots {
		if _, below := within(f.path, path); below {
			return f
		}
	}
	if use == ForWriting {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, dir := range w.readable {
		if f := w.readFolderLocked(dir); f != nil {
			if _, below := within(f.path, path); below {
				return f
			}
		}
	}
	return nil
}

// readFolderLocked opens a folder given to AllowRead, once; nil when it is not there.
func (w *Workspace) readFolderLocked(dir string) *folder {
	if f := w.opened[dir]; f != nil || w.closed {
		return f
	}
	f, err := openFolder(dir)
	if err != nil {
		return nil
	}
	w.opened[dir] = f
	return f
}

func (w *Workspace) refusal(path, asked, real string, use Use) error {
	leads := ""
	if _, below := within(asked, real); !below {
		leads = " leads to " + real + ", which"
	}
	if use == ForWriting && w.find(real, ForReading) != nil {
		return fmt.Errorf("%q%s may be read but not changed; the workspace is %s", path, leads, strings.Join(w.Roots(), ", "))
	}
	return fmt.Errorf("%q%s is outside the workspace (%s)", path, leads, strings.Join(w.Roots(), ", "))
}

// maxLinks bounds a chain of links, as the system does.
const maxLinks = 40

// resolveLinks is filepath.EvalSymlinks for paths whose end need not exist: a link that leads to
// nothing yet is followed all the same, since writing to it would make what it names.
func resolveLinks(path string, depth int) (string, error) {
	if depth > maxLinks {
		return "", errors.New("too many links")
	}
	real, err := filepath.EvalSymlinks(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	parent := filepath.Dir(path)
	if parent == path {
		return "", err
	}
	if parent, err = resolveLinks(parent, depth); err != nil {
		return "", err
	}
	path = filepath.Join(parent, filepath.Base(path))
	target, err := os.Readlink(path)
	if err != nil {
		return path, nil
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(parent, target)
	}
	return resolveLinks(target, depth+1)
}

// within returns path relative to dir, with below telling whether it is dir or lies below it.
// Both are absolute and clean. Names are compared as the system compares them.
func within(dir, path string) (rel string, below bool) {
	rest := path
	for dir != "" && rest != "" {
		var a, b string
		a, dir = nextName(dir)
		b, rest = nextName(rest)
		if a != b && !sameName(a, b) {
			return "", false
		}
	}
	if dir != "" {
		return "", false
	}
	if rest == "" {
		return ".", true
	}
	return rest, true
}

// nextName cuts the first name off a path; the root of a volume counts as the name "".
func nextName(path string) (name, rest string) {
	for i := range len(path) {
		if os.IsPathSeparator(path[i]) {
			return path[:i], path[i+1:]
		}
	}
	return path, ""
}
