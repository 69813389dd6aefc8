package builtin

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func TestWorkspaceNamesTheFolderThatIsWrong(t *testing.T) {
	dir := realTemp(t)
	fillFolder(t, dir, map[string]string{"file": ""})
	for _, extra := range []string{"relative", filepath.Join(dir, "none"), filepath.Join(dir, "file")} {
		w, err := NewWorkspace(dir, []string{extra})
		if err == nil || !strings.Contains(err.Error(), extra) {
			t.Errorf("%s: %v, %v", extra, w, err)
		}
	}
}

func TestResolve(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // making links needs a right there that tests may not have
	}
	outside, extra, skills := realTemp(t), realTemp(t), realTemp(t)
	c := newConfig(t, map[string]string{"a/b.txt": "b", "..c/d": "d"})
	root := c.Workspace.Root()
	w, err := NewWorkspace(root, []string{extra})
	must(t, err)
	defer w.Close()
	w.AllowRead(skills, filepath.Join(outside, "later"))
	for link, target := range map[string]string{
		"in": "a", "in.txt": "a/b.txt", "out": outside, "out.txt": filepath.Join(outside, "new"),
		"up": "../", "loop": "loop", "dangling": "a/new.txt", "deep": "in/b.txt", "abs": filepath.Join(root, "a"),
	} {
		must(t, os.Symlink(target, filepath.Join(root, link)))
	}
	for _, test := range []struct{ path, want, refused string }{
		{"a/b.txt", "a/b.txt", ""},
		{"./a/../a/b.txt", "a/b.txt", ""},
		{filepath.Join(root, "a", "b.txt"), "a/b.txt", ""},
		{".", ".", ""},
		{"..c/d", "..c/d", ""},
		{"no/such/file", "no/such/file", ""},
		{"in/b.txt", "a/b.txt", ""},
		{"in.txt", "a/b.txt", ""},
		{"deep", "a/b.txt", ""},
		{"abs/b.txt", "a/b.txt", ""},
		{"dangling", "a/new.txt", ""},
		{filepath.Join(extra, "x"), filepath.Join(extra, "x"), ""},
		{"", "", "empty"},
		{"a\x00b", "", "NUL"},
		{"..", "", "outside the workspace (" + root + ", " + extra + ")"},
		{"../" + filepath.Base(root) + "x/f", "", "outside"},
		{"/etc/passwd", "", "outside"},
		{"out/x", "", "leads to " + filepath.Join(outside, "x")},
		{"out.txt", "", "leads to " + filepath.Join(outside, "new")},
		{"up/x", "", "outside"},
		{"loop", "", "loop"},
		{"a/b.txt/c", "", "not a directory"},
		{outside + "/none/deep", "", "outside"},
	} {
		p, err := w.Resolve(test.path, ForWriting)
		switch {
		case test.refused == "" && (err != nil || p.Short != test.want):
			t.Errorf("%q: got %q, %v; want %q", test.path, p.Short, err, test.want)
		case test.refused != "" && (err == nil || !strings.Contains(err.Error(), test.refused)):
			t.Errorf("%q: got %q, %v; want a refusal with %q", test.path, p.Short, err, test.refused)
		}
	}
	checkReadOnly(t, w, filepath.Join(skills, "x"))
	if _, err := w.Resolve(filepath.Join(outside, "later", "x"), ForReading); err == nil {
		t.Error("a folder that does not exist was read")
	}
	must(t, os.Mkdir(filepath.Join(outside, "later"), 0o777))
	checkReadOnly(t, w, filepath.Join(outside, "later", "x"))
}

func checkReadOnly(t *testing.T, w *Workspace, path string) {
	t.Helper()
	if _, err := w.Resolve(path, ForReading); err != nil {
		t.Error(err)
	}
	if _, err := w.Resolve(path, ForWriting); err == nil || !strings.Contains(err.Error(), "may be read but not changed") {
		t.Errorf("writing %s: %v", path, err)
	}
}

func TestPlacesAreNamedAsTheWorkspaceWas(t *testing.T) {
	if runtime.GOOS == "windows" {
		return
	}
	dir := realTemp(t)
	fillFolder(t, dir, map[string]string{"real/a.txt": "a"})
	must(t, os.Symlink("real", filepath.Join(dir, "named")))
	w, err := NewWorkspace(filepath.Join(dir, "named"), nil)
	must(t, err)
	defer w.Close()
	for _, path := range []string{"a.txt", filepath.Join(dir, "named", "a.txt"), filepath.Join(dir, "real", "a.txt")} {
		p, err := w.Resolve(path, ForWriting)
		if err != nil || p.Path != filepath.Join(dir, "real", "a.txt") || p.Name != filepath.Join(dir, "named", "a.txt") || p.Short != "a.txt" {
			t.Errorf("%s: %+v, %v", path, p, err)
		}
	}
}

func TestWithin(t *testing.T) {
	sep := string(os.PathSeparator)
	for _, test := range []struct {
		dir, path, rel string
		below          bool
	}{
		{"/a/b", "/a/b/c/d", "c/d", true},
		{"/a/b", "/a/b", ".", true},
		{"/a/b", "/a/bc", "", false},
		{"/a/b", "/a", "", false},
		{"/", "/a", "a", true},
	} {
		native := func(s string) string { return strings.ReplaceAll(s, "/", sep) }
		rel, below := within(native(test.dir), native(test.path))
		if rel != native(test.rel) || below != test.below {
			t.Errorf("within(%s, %s) = %q, %v", test.dir, test.path, rel, below)
		}
	}
}

// A link swapped in between the decision and the act must not lead out: neither what is outside
// may be read, nor may anything be written there.
func TestLinkSwappedInIsNotFollowed(t *testing.T) {
	if runtime.GOOS == "windows" {
		return
	}
	outside := realTemp(t)
	fillFolder(t, outside, map[string]string{"f.txt": "SECRET\n"})
	c := newConfig(t, map[string]string{"real/f.txt": "mine\n", "kept/f.txt": "mine\n"})
	root := c.Workspace.Root()
	file, err := c.Workspace.Resolve("real/f.txt", ForWriting)
	must(t, err)
	folder, err := c.Workspace.Resolve("real", ForReading)
	must(t, err)
	var swapper sync.WaitGroup
	stop := make(chan struct{})
	swapper.Go(func() { swap(stop, filepath.Join(root, "real"), outside) })
	refused := 0
	func() {
		defer swapper.Wait()
		defer close(stop)
		for i := range 20_000 {
			refused += swapRound(t, file, folder, i)
		}
	}()
	if refused == 0 {
		t.Error("no link was met, so that nothing was tested")
	}
	entries, err := os.ReadDir(outside)
	must(t, err)
	data, err := os.ReadFile(filepath.Join(outside, "f.txt"))
	if err != nil || string(data) != "SECRET\n" || len(entries) != 1 {
		t.Errorf("outside there is %q, %v and %d entries", data, err, len(entries))
	}
}

// swap puts a link to outside in the place of the folder real, and back, until stop is closed.
func swap(stop chan struct{}, real, outside string) {
	aside, link := real+".aside", real+".link"
	if err := os.Symlink(outside, link); err != nil {
		panic(err)
	}
	for {
		select {
		case <-stop:
			return
		default:
		}
		_ = os.Rename(real, aside)
		_ = os.Rename(link, real)
		_ = os.Rename(real, link)
		_ = os.Rename(aside, real)
	}
}

// swapRound uses places that were resolved when all was well, and counts the refusals.
func swapRound(t *testing.T, file, folder Place, i int) (refused int) {
	t.Helper()
	data, _, err := file.read(100)
	if err != nil && strings.Contains(err.Error(), "escapes") {
		refused++
	}
	if err == nil && string(data) != "mine\n" {
		t.Fatalf("what is outside was read: %q", data)
	}
	if i%100 == 0 { // a write waits for the disk
		before, _ := file.stat()
		_ = file.replace([]byte("mine\n"), before)
	}
	if i%20 == 0 {
		q, err := newQuery("SECRET", "", false)
		must(t, err)
		found, _, err := q.search(t.Context(), folder, 10)
		if err != nil || len(found) > 0 {
			t.Fatalf("what is outside was found: %+v, %v", found, err)
		}
	}
	return refused
}

func TestWindowsSpellings(t *testing.T) {
	if runtime.GOOS != "windows" {
		return
	}
	c := newConfig(t, map[string]string{"a.txt": "a\n"})
	root := c.Workspace.Root()
	for _, path := range []string{"a.txt", `.\A.TXT`, `\\?\` + root + `\a.txt`, strings.ToUpper(root) + `\a.txt`, filepath.ToSlash(root) + "/a.txt"} {
		if p, err := c.Workspace.Resolve(path, ForWriting); err != nil || !strings.EqualFold(p.Short, "a.txt") {
			t.Errorf("%s: %+v, %v", path, p, err)
		}
	}
	for _, path := range []string{"NUL", "x/com1.txt", "a.txt:stream", ".git./config", "AGENTS.md ", `\a.txt`, "C:a.txt"} {
		if p, err := c.Workspace.Resolve(path, ForWriting); err == nil {
			t.Errorf("%s: %+v", path, p)
		}
	}
}
