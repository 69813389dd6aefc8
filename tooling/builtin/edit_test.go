package builtin

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"nimlet/tooling"
)

func TestEditChangesOnlyTheEditedBytes(t *testing.T) {
	for _, test := range []struct{ name, before, old, new, after string }{
		{"CRLF", "one\r\ntwo\r\n", "two", "2", "one\r\n2\r\n"},
		{"mixed", "one\r\ntwo\nthree\r\n", "one\ntwo\nthree", "one\n2\nthree", "one\r\n2\nthree\r\n"},
		{"BOM", "\uFEFFone\ntwo", "one", "1", "\uFEFF1\ntwo"},
		{"UTF-16 LE", "\xff\xfeo\x00n\x00\r\x00\n\x00x\x00", "x", "é", "\xff\xfeo\x00n\x00\r\x00\n\x00\xe9\x00"},
		{"UTF-16 BE", "\xfe\xff\x00o\x00n", "n", "日", "\xfe\xff\x00o\x65\xe5"},
		{"Latin-1", "caf\xe9\nna\xefve\n", "café", "thé", "th\xe9\nna\xefve\n"},
		{"UTF-8 with a broken byte", "日本\xff\nx\n", "x", "é", "日本\xff\né\n"},
		{"no final newline", "a\nb", "b", "c", "a\nc"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newConfig(t, map[string]string{"f.txt": test.before})
			works(t, edit{c}, args{"path": "f.txt", "old_text": test.old, "new_text": test.new})
			if got := content(t, c, "f.txt"); got != test.after {
				t.Errorf("got %q, want %q", got, test.after)
			}
		})
	}
}

func TestEditIsAllOrNothing(t *testing.T) {
	c := newConfig(t, map[string]string{"f.txt": "a\nb\n"})
	two := func(second string) args {
		return args{"path": "f.txt", "replacements": []args{{"old_text": "a", "new_text": "x"}, {"old_text": second, "new_text": "y"}}}
	}
	refuses(t, edit{c}, two("zz"), "replacement 2 of 2", "version now "+version("a\nb\n"), "nothing was changed")
	if got := content(t, c, "f.txt"); got != "a\nb\n" {
		t.Errorf("a failed edit left %q", got)
	}
	works(t, edit{c}, two("x\nb"))
	if got := content(t, c, "f.txt"); got != "y\n" {
		t.Errorf("in order, they give %q", got)
	}
}

func TestEditRefusesAnotherVersion(t *testing.T) {
	c := newConfig(t, map[string]string{"f.txt": "a\n"})
	a := args{"path": "f.txt", "old_text": "a", "new_text": "b", "expected_version": "0123456789abcdef"}
	refuses(t, edit{c}, a, "version has changed", "version now "+version("a\n"))
	a["expected_version"] = version("a\n")
	out := works(t, edit{c}, a)
	if !strings.Contains(out, "version "+version("b\n")) {
		t.Errorf("got %q", out)
	}
}

func TestEditRefusesBadArguments(t *testing.T) {
	c := newConfig(t, map[string]string{"f.txt": "a\n", "pic.bin": "a\x00b", "caf.txt": "caf\xe9\n"})
	refuses(t, edit{c}, args{"path": "f.txt"}, "old_text and new_text")
	refuses(t, edit{c}, args{"path": "f.txt", "old_text": "a"}, "both")
	refuses(t, edit{c}, args{"path": "f.txt", "old_text": "a", "new_text": "b", "replacements": []args{{"old_text": "a", "new_text": "b"}}}, "not both")
	refuses(t, edit{c}, args{"path": "f.txt", "old_text": "a", "new_text": "a"}, "the same")
	refuses(t, edit{c}, args{"path": "none.txt", "old_text": "a", "new_text": "b"}, "none.txt does not exist", "**/none.txt")
	refuses(t, edit{c}, args{"path": "pic.bin", "old_text": "a", "new_text": "b"}, "binary")
	refuses(t, edit{c}, args{"path": "caf.txt", "old_text": "f", "new_text": "日"}, "Latin-1", "日")
	refuses(t, edit{c}, args{"path": ".", "old_text": "a", "new_text": "b"}, "folder")
}

func TestEditKeepsModeAndLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // modes and links are another matter there
	}
	c := newConfig(t, map[string]string{"bin/run.sh": "echo a\n"})
	root := c.Workspace.Root()
	must(t, os.Chmod(filepath.Join(root, "bin/run.sh"), 0o751))
	must(t, os.Symlink("bin/run.sh", filepath.Join(root, "run")))
	works(t, edit{c}, args{"path": "run", "old_text": "a", "new_text": "b"})
	if got := content(t, c, "bin/run.sh"); got != "echo b\n" {
		t.Errorf("the file the link leads to has %q", got)
	}
	info, err := os.Stat(filepath.Join(root, "bin/run.sh"))
	must(t, err)
	link, err := os.Lstat(filepath.Join(root, "run"))
	must(t, err)
	if info.Mode().Perm() != 0o751 || link.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("mode %v, link %v", info.Mode(), link.Mode())
	}
	checkNoTemp(t, filepath.Join(root, "bin"))
}

func checkNoTemp(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".nimlet-") {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestEditAnswersWithDiffAndPlace(t *testing.T) {
	c := newConfig(t, map[string]string{"f.txt": "a\nb\nc\n"})
	r := run(t, edit{c}, args{"path": "f.txt", "old_text": "b\n", "new_text": "x\n"})
	path := filepath.Join(c.Workspace.Root(), "f.txt")
	if len(r.Diffs) != 1 || r.Diffs[0].Path != path || *r.Diffs[0].Old != "a\nb\nc\n" || r.Diffs[0].New != "a\nx\nc\n" {
		t.Errorf("diffs %+v", r.Diffs)
	}
	if len(r.Locations) != 1 || r.Locations[0].Path != path || r.Locations[0].Line != 2 {
		t.Errorf("locations %+v", r.Locations)
	}
}

func TestPreviewShowsAndChangesNothing(t *testing.T) {
	c := newConfig(t, map[string]string{"f.txt": "a\n"})
	e := edit{c}
	diffs := e.Preview(t.Context(), callOf(t, e, args{"path": "f.txt", "old_text": "a", "new_text": "b"}))
	w := write{c}
	made := w.Preview(t.Context(), callOf(t, w, args{"path": "new/g.txt", "content": "g"}))
	if len(diffs) != 1 || diffs[0].New != "b\n" || len(made) != 1 || made[0].Old != nil || made[0].New != "g" {
		t.Errorf("got %+v and %+v", diffs, made)
	}
	if got := content(t, c, "f.txt"); got != "a\n" {
		t.Errorf("the file has %q", got)
	}
	if _, err := os.Stat(filepath.Join(c.Workspace.Root(), "new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder was made: %v", err)
	}
}

func TestEditOfACancelledTurnChangesNothing(t *testing.T) {
	c := newConfig(t, map[string]string{"f.txt": "a\n"})
	e := edit{c}
	_, err := e.Run(cancelled(t), tooling.Env{}, callOf(t, e, args{"path": "f.txt", "old_text": "a", "new_text": "b"}))
	if !errors.Is(err, context.Canceled) || content(t, c, "f.txt") != "a\n" {
		t.Errorf("got %v", err)
	}
}

func TestReadOnlyFileIsLeftAlone(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Log("root may write everything: only the content is checked")
	}
	c := newConfig(t, map[string]string{"f.txt": "a\n"})
	must(t, os.Chmod(filepath.Join(c.Workspace.Root(), "f.txt"), 0o444))
	r := run(t, edit{c}, args{"path": "f.txt", "old_text": "a", "new_text": "b"})
	if want := map[bool]string{true: "a\n", false: "b\n"}[r.IsError]; content(t, c, "f.txt") != want {
		t.Errorf("error %v and yet %q", r.IsError, content(t, c, "f.txt"))
	}
	if !r.IsError && os.Geteuid() != 0 {
		t.Error("a read-only file was replaced")
	}
}

func TestFileChangedMeanwhileIsLeftAlone(t *testing.T) {
	c := newConfig(t, map[string]string{"f.txt": "a\n"})
	p, err := c.Workspace.Resolve("f.txt", ForWriting)
	must(t, err)
	d, err := c.load(t.Context(), p)
	must(t, err)
	must(t, os.WriteFile(p.Path, []byte("someone else's\n"), 0o666))
	if err := c.store(t.Context(), d, "b\n"); err == nil || !strings.Contains(err.Error(), "meanwhile") {
		t.Errorf("got %v", err)
	}
	if got := content(t, c, "f.txt"); got != "someone else's\n" {
		t.Errorf("got %q", got)
	}
	checkNoTemp(t, c.Workspace.Root())
}

func TestWrite(t *testing.T) {
	c := newConfig(t, map[string]string{"old.txt": "a\nb\n", "crlf.txt": "a\r\nb\r\n", "bom.txt": "\uFEFFa\n"})
	out := works(t, write{c}, args{"path": "x/y/new.txt", "content": "one\ntwo"})
	if out != "created x/y/new.txt, 2 lines\nversion "+version("one\ntwo") || content(t, c, "x/y/new.txt") != "one\ntwo" {
		t.Errorf("got %q", out)
	}
	refuses(t, write{c}, args{"path": "old.txt", "content": "x"}, "exists (2 lines", version("a\nb\n"), "overwrite")
	if got := content(t, c, "old.txt"); got != "a\nb\n" {
		t.Errorf("got %q", got)
	}
	works(t, write{c}, args{"path": "old.txt", "content": "x", "overwrite": true})
	works(t, write{c}, args{"path": "crlf.txt", "content": "x\ny\n", "overwrite": true})
	works(t, write{c}, args{"path": "bom.txt", "content": "b\n", "overwrite": true})
	for name, want := range map[string]string{"old.txt": "x", "crlf.txt": "x\r\ny\r\n", "bom.txt": "\uFEFFb\n"} {
		if got := content(t, c, name); got != want {
			t.Errorf("%s has %q, want %q", name, got, want)
		}
	}
	refuses(t, write{c}, args{"path": "old.txt/x", "content": ""}, "old.txt/x")
}
