package builtin

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestReadShowsNumberedLines(t *testing.T) {
	text := "one\ntwo\nthree\n"
	c := newConfig(t, map[string]string{"f.txt": text, "crlf.txt": "a\r\nb", "empty": "", "bom.txt": "\uFEFFx\n", "nul.txt": "\xff\xfea\x00", "latin.txt": "caf\xe9\n"})
	for _, test := range []struct {
		args args
		want string
	}{
		{args{"path": "f.txt"}, "path f.txt\nversion " + version(text) + "\nlines 1-3 of 3\n     1\tone\n     2\ttwo\n     3\tthree\n"},
		{args{"path": "f.txt", "start_line": 2, "end_line": 2}, "path f.txt\nversion " + version(text) + "\nlines 2-2 of 3\n     2\ttwo\n"},
		{args{"path": "f.txt", "start_line": 3}, "path f.txt\nversion " + version(text) + "\nlines 3-3 of 3\n     3\tthree\n"},
		{args{"path": "f.txt", "end_line": 99}, "path f.txt\nversion " + version(text) + "\nlines 1-3 of 3\n     1\tone\n     2\ttwo\n     3\tthree\n"},
		{args{"path": "crlf.txt"}, "path crlf.txt\nversion " + version("a\r\nb") + "\nlines 1-2 of 2, CRLF\n     1\ta\n     2\tb\n"},
		{args{"path": "empty"}, "path empty\nversion " + version("") + "\nlines 0-0 of 0\n"},
		{args{"path": "bom.txt"}, "path bom.txt\nversion " + version("x\n") + "\nlines 1-1 of 1, UTF-8 with BOM\n     1\tx\n"},
		{args{"path": "nul.txt"}, "path nul.txt\nversion " + version("a") + "\nlines 1-1 of 1, UTF-16 LE\n     1\ta\n"},
		{args{"path": "latin.txt"}, "path latin.txt\nversion " + version("café\n") + "\nlines 1-1 of 1, Latin-1\n     1\tcafé\n"},
	} {
		if got := works(t, read{c}, test.args); got != test.want {
			t.Errorf("%v: got %q, want %q", test.args, got, test.want)
		}
	}
	refuses(t, read{c}, args{"path": "f.txt", "start_line": 4}, "start_line 4", "3 lines")
	refuses(t, read{c}, args{"path": "f.txt", "start_line": 3, "end_line": 2}, "before")
}

func TestReadNamesWhatItRefuses(t *testing.T) {
	c := newConfig(t, map[string]string{
		"a.out": "\x7fELF\x02\x01\x00\x00", "x.zip": "PK\x03\x04\x14\x00", "x.pdf": "%PDF-1.7\n", "x.bin": "a\x00b", "x.gz": "\x1f\x8b\x08\x00",
		"db": "SQLite format 3\x00", "utf16": "\xff\xfea", "late.txt": strings.Repeat("a\n", 9000) + "\x00", "mz.txt": "MZ is no program\n", "bzh.txt": "BZh\n",
	})
	for name, want := range map[string]string{"a.out": "ELF", "x.zip": "ZIP", "x.pdf": "PDF", "x.bin": "binary", "x.gz": "gzip", "db": "SQLite", "utf16": "binary", "late.txt": "binary", ".": "folder", "none": "does not exist"} {
		refuses(t, read{c}, args{"path": name}, want)
	}
	works(t, read{c}, args{"path": "mz.txt"})
	works(t, read{c}, args{"path": "bzh.txt"})
}

func TestReadOfALargeFileNeedsARange(t *testing.T) {
	lines := strings.Repeat("0123456789\n", 20_000)
	c := newConfig(t, map[string]string{"large.txt": lines, "long.txt": strings.Repeat("x", 5000) + "\nnext\n"})
	refuses(t, read{c}, args{"path": "large.txt"}, "220000 bytes in 20000 lines", "start_line")
	if out := works(t, read{c}, args{"path": "large.txt", "start_line": 19_999}); !strings.Contains(out, "lines 19999-20000 of 20000") {
		t.Errorf("got %.200q", out)
	}
	out := works(t, read{c}, args{"path": "large.txt", "start_line": 1})
	if !strings.Contains(out, "go on with start_line") || len(out) > 2*maxRead {
		t.Errorf("%d bytes that end in %q", len(out), out[len(out)-100:])
	}
	if out := works(t, read{c}, args{"path": "long.txt"}); !strings.Contains(out, "x [… 3000 more bytes in this line]\n     2\tnext") {
		t.Errorf("got %q", out)
	}
}

// A file larger than what is held at once is read through for the range wanted, and its version is
// that of its text all the same.
func TestRangeOfAHugeFileIsStreamed(t *testing.T) {
	c := newConfig(t, nil)
	f, err := os.Create(filepath.Join(c.Workspace.Root(), "huge.log"))
	must(t, err)
	line := strings.Repeat("a", 99) + "\n"
	block := strings.Repeat(line, 10_000)
	for range 40 {
		_, err := f.WriteString(block)
		must(t, err)
	}
	must(t, f.Close())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out := works(t, read{c}, args{"path": "huge.log", "start_line": 399_999, "end_line": 400_000})
	runtime.ReadMemStats(&after)
	if !strings.Contains(out, "lines 399999-400000 of 400000") {
		t.Errorf("got %.200q", out)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
		t.Errorf("%d bytes were allocated", used)
	}
	refuses(t, read{c}, args{"path": "huge.log"}, "40000000 bytes in 400000 lines")
	refuses(t, edit{c}, args{"path": "huge.log", "old_text": "a", "new_text": "b"}, "40000000 bytes", "bash")
}

func TestReadShowsPictures(t *testing.T) {
	var data bytes.Buffer
	must(t, png.Encode(&data, image.NewGray(image.Rect(0, 0, 3, 2))))
	c := newConfig(t, map[string]string{"p.png": data.String(), "g.txt": "GIF89a\x01\x00\x01\x00"})
	r := run(t, read{c}, args{"path": "p.png"})
	if len(r.Images) != 1 || r.Images[0].MIMEType != "image/png" || r.Images[0].Data != base64.StdEncoding.EncodeToString(data.Bytes()) {
		t.Errorf("got %+v", r)
	}
	if want := fmt.Sprintf("image/png, %d bytes", data.Len()); !strings.Contains(r.Output, want) {
		t.Errorf("got %q, want %q", r.Output, want)
	}
	if r := run(t, read{c}, args{"path": "g.txt"}); r.IsError || len(r.Images) != 1 || r.Images[0].MIMEType != "image/gif" {
		t.Errorf("what counts is the content: %+v", r)
	}
}

func TestReadPointsAtItsLine(t *testing.T) {
	c := newConfig(t, map[string]string{"f.txt": "a\nb\n"})
	call := args{"path": "f.txt", "start_line": 2}
	title, places := read{c}.Describe(callOf(t, read{c}, call))
	r := run(t, read{c}, call)
	if title != "Read f.txt (from line 2)" || len(places) != 1 || places[0].Line != 2 || len(r.Locations) != 1 || r.Locations[0] != places[0] {
		t.Errorf("got %q %+v and %+v", title, places, r.Locations)
	}
}

func TestReadSkill(t *testing.T) {
	c := newConfig(t, map[string]string{"skills/deploy/SKILL.md": "---\nname: deploy\n---\nPush it.\n"})
	dir := filepath.Join(c.Workspace.Root(), "skills", "deploy")
	c.Skills = func() []Skill {
		return []Skill{{Name: "deploy", Dir: dir, File: filepath.Join(dir, "SKILL.md")}, {Name: "gone", Dir: dir, File: filepath.Join(dir, "none.md")}}
	}
	if got := works(t, readSkill{c}, args{"name": "Deploy"}); got != "skill deploy\nfolder "+dir+"\n\n---\nname: deploy\n---\nPush it.\n" {
		t.Errorf("got %q", got)
	}
	refuses(t, readSkill{c}, args{"name": "release"}, `no skill "release"`, "deploy, gone")
	refuses(t, readSkill{c}, args{"name": "gone"}, "none.md")
	c.Skills = nil
	refuses(t, readSkill{c}, args{"name": "x"}, "nor any other")
}
