package builtin

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An openEditor holds unsaved texts by path, as an editor would, and notes what it is told.
type openEditor struct {
	texts map[string]string
	takes bool  // it writes what it is offered
	fails error // what its writes end with
	saw   map[string]string
	wrote []string
}

func (e *openEditor) Unsaved(_ context.Context, path string, _ []byte) (string, bool) {
	text, ok := e.texts[path]
	return text, ok
}

func (e *openEditor) Write(_ context.Context, path, text string, unsaved bool) (bool, error) {
	if e.fails != nil || !e.takes {
		return false, e.fails
	}
	e.wrote = append(e.wrote, text)
	if unsaved {
		e.texts[path] = text
		return true, nil
	}
	return true, os.WriteFile(path, []byte(text), 0o666)
}

func (e *openEditor) Saw(path string, disk []byte) { e.saw[path] = string(disk) }

func (e *openEditor) Dirty() []string {
	var paths []string
	for path := range e.texts {
		paths = append(paths, path)
	}
	return paths
}

func newEditorConfig(t *testing.T, files map[string]string) (Config, *openEditor) {
	c := newConfig(t, files)
	e := &openEditor{texts: map[string]string{}, saw: map[string]string{}}
	c.Buffers = e
	return c, e
}

func TestUnsavedTextIsReadAndEdited(t *testing.T) {
	c, e := newEditorConfig(t, map[string]string{"f.txt": "disk\r\n"})
	path := filepath.Join(c.Workspace.Root(), "f.txt")
	e.takes = true
	e.texts[path] = "editor\r\nline\r\n"
	out := works(t, read{c}, args{"path": "f.txt"})
	if !strings.Contains(out, "1\teditor\n") || !strings.Contains(out, "version "+version("editor\r\nline\r\n")) || !strings.Contains(out, "not saved") {
		t.Errorf("got %q", out)
	}
	refuses(t, edit{c}, args{"path": "f.txt", "old_text": "disk", "new_text": "x"}, "not found")
	r := run(t, edit{c}, args{"path": "f.txt", "old_text": "line", "new_text": "two\nlines"})
	if want := "editor\r\ntwo\r\nlines\r\n"; r.IsError || e.texts[path] != want || r.Diffs[0].New != want || *r.Diffs[0].Old != "editor\r\nline\r\n" {
		t.Errorf("the editor has %q after %+v", e.texts[path], r)
	}
	if got := content(t, c, "f.txt"); got != "disk\r\n" || e.saw[path] != got {
		t.Errorf("the disk has %q, the editor was told %q", got, e.saw[path])
	}
}

func TestUnsavedTextIsWrittenToDiskWhereTheEditorDoesNot(t *testing.T) {
	c, e := newEditorConfig(t, map[string]string{"f.txt": "\uFEFFdisk\n"})
	path := filepath.Join(c.Workspace.Root(), "f.txt")
	e.texts[path] = "editor\n"
	works(t, edit{c}, args{"path": "f.txt", "old_text": "editor", "new_text": "both"})
	if got := content(t, c, "f.txt"); got != "\uFEFFboth\n" || e.saw[path] != got {
		t.Errorf("the disk has %q, the editor was told %q", got, e.saw[path])
	}
}

func TestEditorThatWritesIsLookedAfter(t *testing.T) {
	c, e := newEditorConfig(t, map[string]string{"f.txt": "a\n"})
	e.takes = true
	works(t, edit{c}, args{"path": "f.txt", "old_text": "a", "new_text": "b"})
	works(t, write{c}, args{"path": "new/g.txt", "content": "g"})
	if content(t, c, "f.txt") != "b\n" || content(t, c, "new/g.txt") != "g" {
		t.Errorf("the editor wrote %q", e.wrote)
	}
	if got := e.saw[filepath.Join(c.Workspace.Root(), "f.txt")]; got != "b\n" {
		t.Errorf("it was told %q", got)
	}
	e.fails = errors.New("the editor is gone")
	refuses(t, write{c}, args{"path": "h.txt", "content": "h"}, "the editor is gone")
}

func TestFileOpenButNotYetOnDiskExists(t *testing.T) {
	c, e := newEditorConfig(t, nil)
	e.texts[filepath.Join(c.Workspace.Root(), "new.txt")] = "draft"
	refuses(t, write{c}, args{"path": "new.txt", "content": "x"}, "exists")
	if out := works(t, read{c}, args{"path": "new.txt"}); !strings.Contains(out, "1\tdraft") {
		t.Errorf("got %q", out)
	}
}

func TestSearchesSayWhatIsNotSaved(t *testing.T) {
	c, e := newEditorConfig(t, map[string]string{"a/b.go": "x\n", "c.go": "x\n"})
	root := c.Workspace.Root()
	e.texts[filepath.Join(root, "c.go")] = ""
	e.texts[filepath.Join(root, "a", "b.go")] = ""
	e.texts[filepath.Join(filepath.Dir(root), "outside.go")] = ""
	got := []string{
		works(t, grep{Config: c}, args{"pattern": "x"}),
		works(t, grep{Config: c}, args{"pattern": "none", "path": "a"}),
		works(t, glob{c}, args{"pattern": "a/*"}),
		c.unsavedNote(),
	}
	want := []string{
		"not saved in the editor: a/b.go, c.go\na/b.go:1:x\nc.go:1:x\n",
		"not saved in the editor: a/b.go\nno match",
		"not saved in the editor: a/b.go\na/b.go\n",
		"not saved in the editor: a/b.go, c.go\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	clear(e.texts)
	if note := c.unsavedNote(); note != "" {
		t.Errorf("got %q", note)
	}
}
