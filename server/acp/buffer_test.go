package acp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"nimlet/internal/acptest"
)

const withFiles = `{"fs":{"readTextFile":true,"writeTextFile":true}}`

// openFiles are the texts a client has open, as fs/read_text_file hands them out.
type openFiles struct {
	d *desk

	mu      sync.Mutex
	texts   map[string]string // by name in the workspace
	reads   int
	written map[string]string
}

// open has the client hold texts that differ from the disk; others it reads from there.
func (d *desk) open(texts map[string]string) *openFiles {
	o := &openFiles{d: d, texts: texts, written: map[string]string{}}
	d.On("fs/read_text_file", func(params jsonRaw) *acptest.Answer {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.reads++
		name := o.name(params)
		if text, ok := o.texts[name]; ok {
			return &acptest.Answer{Result: map[string]any{"content": text}}
		}
		disk, err := os.ReadFile(filepath.Join(d.dir, name))
		if err != nil {
			return refusal(-32002, "no such file")
		}
		return &acptest.Answer{Result: map[string]any{"content": string(disk)}}
	})
	d.On("fs/write_text_file", func(params jsonRaw) *acptest.Answer {
		o.mu.Lock()
		defer o.mu.Unlock()
		var p struct{ Content string }
		if err := json.Unmarshal(params, &p); err != nil {
			d.t.Error(err)
		}
		name := o.name(params)
		o.texts[name], o.written[name] = p.Content, p.Content
		d.write(name, p.Content) // most clients save
		return &acptest.Answer{}
	})
	return o
}

func (o *openFiles) name(params jsonRaw) string {
	var p struct{ Path string }
	if err := json.Unmarshal(params, &p); err != nil || !filepath.IsAbs(p.Path) {
		o.d.t.Errorf("a path that is not absolute: %s", params)
	}
	name, err := filepath.Rel(o.d.dir, p.Path)
	if err != nil {
		o.d.t.Error(err)
	}
	return filepath.ToSlash(name)
}

func (o *openFiles) set(name, text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.texts[name] = text
}

func (o *openFiles) wrote(name string) (string, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	text, ok := o.written[name]
	return text, ok
}

func TestUnsavedTextIsWhatIsReadEditedAndWrittenBack(t *testing.T) {
	d, id := ready(t, withFiles, nil)
	d.write("a.txt", "one\ntwo\n")
	files := d.open(map[string]string{"a.txt": "one\ntwo and a half\n"})
	if text := mustClose(t, d.Say(id, "read a.txt"), "completed"); !strings.Contains(text, "two and a half") {
		t.Errorf("read %q", text)
	}
	mustClose(t, d.Say(id, `edit {"path": "a.txt", "old_text": "and a half", "new_text": "point five"}`), "completed")
	if text, ok := files.wrote("a.txt"); text != "one\ntwo point five\n" {
		t.Errorf("the editor was given %q (%t)", text, ok)
	}
	mustClose(t, d.Say(id, `edit {"path": "a.txt", "old_text": "one", "new_text": "1"}`), "completed")
	if d.read("a.txt") != "1\ntwo point five\n" {
		t.Errorf("a second edit left %q", d.read("a.txt"))
	}
}

func TestWhatACommandChangedWinsOverAStaleBuffer(t *testing.T) {
	d, id := ready(t, withFiles, yolo)
	d.write("a.txt", "old\n")
	files := d.open(map[string]string{"a.txt": "old\n"})
	d.Say(id, "read a.txt")
	d.Say(id, "bash echo new > a.txt")
	if text := mustClose(t, d.Say(id, "read a.txt"), "completed"); !strings.Contains(text, "new") {
		t.Errorf("read the stale buffer: %q", text)
	}
	mustClose(t, d.Say(id, `edit {"path": "a.txt", "old_text": "new", "new_text": "newer"}`), "completed")
	if _, ok := files.wrote("a.txt"); ok || d.read("a.txt") != "newer\n" {
		t.Errorf("the disk holds %q, the buffer was written: %t", d.read("a.txt"), ok)
	}
}

func TestAStaleBufferStaysStale(t *testing.T) {
	d, id := ready(t, withFiles, yolo)
	d.write("a.txt", "old\n")
	files := d.open(map[string]string{"a.txt": "old\n"})
	d.Say(id, "read a.txt")
	d.Say(id, "bash echo new > a.txt")
	for range 3 {
		if text := mustClose(t, d.Say(id, "read a.txt"), "completed"); !strings.Contains(text, "new") {
			t.Errorf("read the stale buffer: %q", text)
		}
	}
	mustClose(t, d.Say(id, `edit {"path": "a.txt", "old_text": "new", "new_text": "newer"}`), "completed")
	mustClose(t, d.Say(id, `edit {"path": "a.txt", "old_text": "newer", "new_text": "newest"}`), "completed")
	if _, ok := files.wrote("a.txt"); ok || d.read("a.txt") != "newest\n" {
		t.Errorf("the disk holds %q, the buffer was written: %t", d.read("a.txt"), ok)
	}
}

func TestAnEditOnDiskIsNotUndoneByABufferThatWasNotReloaded(t *testing.T) {
	d, id := ready(t, withFiles, nil)
	d.write("a.txt", "one\ntwo\n")
	files := d.open(map[string]string{"a.txt": "one\ntwo\n"})
	mustClose(t, d.Say(id, `edit {"path": "a.txt", "old_text": "one", "new_text": "1"}`), "completed")
	mustClose(t, d.Say(id, `edit {"path": "a.txt", "old_text": "two", "new_text": "2"}`), "completed")
	if _, ok := files.wrote("a.txt"); ok || d.read("a.txt") != "1\n2\n" {
		t.Errorf("the disk holds %q, the buffer was written: %t", d.read("a.txt"), ok)
	}
	files.set("a.txt", "1\n2\nand what I type\n")
	if text := mustClose(t, d.Say(id, "read a.txt"), "completed"); !strings.Contains(text, "and what I type") {
		t.Errorf("new unsaved text was not seen: %q", text)
	}
}

func TestOfASavedFileTheEditorIsNotWrittenTo(t *testing.T) {
	d, id := ready(t, withFiles, nil)
	d.write("a.txt", "one\n")
	files := d.open(map[string]string{})
	mustClose(t, d.Say(id, `edit {"path": "a.txt", "old_text": "one", "new_text": "two"}`), "completed")
	mustClose(t, d.Say(id, `write {"path": "new/b.txt", "content": "fresh\n"}`), "completed")
	if len(files.written) != 0 || d.read("a.txt") != "two\n" || d.read("new/b.txt") != "fresh\n" {
		t.Errorf("written through the editor: %v", files.written)
	}
}

func TestWithFsClientEveryWriteGoesThroughTheEditor(t *testing.T) {
	d := sit(t, nil)
	d.leave()
	d.configure(`{"acp": {"fs": "client"}}`)
	d.start(nil)
	d.Initialize(withFiles)
	d.write("a.txt", "one\n")
	id := d.New(d.dir)
	files := d.open(map[string]string{})
	mustClose(t, d.Say(id, `edit {"path": "a.txt", "old_text": "one", "new_text": "two"}`), "completed")
	mustClose(t, d.Say(id, `write {"path": "new/b.txt", "content": "fresh\n"}`), "completed")
	a, _ := files.wrote("a.txt")
	b, _ := files.wrote("new/b.txt")
	if a != "two\n" || b != "fresh\n" {
		t.Errorf("the editor was given %q and %q", a, b)
	}
}

func TestAClientThatOnlyReadsKeepsItsUnsavedText(t *testing.T) {
	d, id := ready(t, `{"fs":{"readTextFile":true}}`, nil)
	d.write("a.txt", "saved\n")
	d.open(map[string]string{"a.txt": "unsaved\n"})
	if text := mustClose(t, d.Say(id, "read a.txt"), "completed"); !strings.Contains(text, "unsaved") {
		t.Errorf("read %q", text)
	}
	d.Say(id, `edit {"path": "a.txt", "old_text": "unsaved", "new_text": "edited"}`)
	if got := d.read("a.txt"); got != "edited\n" && got != "saved\n" {
		t.Errorf("the disk holds %q", got)
	}
}

func TestAClientThatNeitherReadsNorWritesIsNotAsked(t *testing.T) {
	for _, capabilities := range []string{`{}`, `{"fs":{}}`, `{"fs":{"writeTextFile":true}}`} {
		d, id := ready(t, capabilities, nil)
		files := d.open(map[string]string{"a.txt": "unsaved\n"})
		d.write("a.txt", "saved\n")
		text := mustClose(t, d.Say(id, "read a.txt"), "completed")
		if files.reads != 0 || !strings.Contains(text, "saved") || strings.Contains(text, "unsaved") {
			t.Errorf("%s: asked %d times, read %q", capabilities, files.reads, text)
		}
	}
}

func TestAnErrorOfTheClientLeavesTheDisk(t *testing.T) {
	for name, answer := range map[string]*acptest.Answer{
		"internal":  refusal(-32603, "the buffer is gone"),
		"not found": refusal(-32002, "no such file"),
		"unknown":   refusal(-32601, "method not found"),
		"null":      {},
		"a number":  {Result: map[string]any{"content": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			d, id := ready(t, withFiles, nil)
			d.write("a.txt", "one\n")
			d.On("fs/read_text_file", func(jsonRaw) *acptest.Answer { return answer })
			if text := mustClose(t, d.Say(id, "read a.txt"), "completed"); !strings.Contains(text, "one") {
				t.Errorf("read %q", text)
			}
			mustClose(t, d.Say(id, `edit {"path": "a.txt", "old_text": "one", "new_text": "two"}`), "completed")
			if d.read("a.txt") != "two\n" {
				t.Errorf("the disk holds %q", d.read("a.txt"))
			}
		})
	}
}

func TestARefusedWriteOfUnsavedTextIsAFailureThatChangesNothing(t *testing.T) {
	d, id := ready(t, withFiles, nil)
	d.write("a.txt", "saved\n")
	d.open(map[string]string{"a.txt": "unsaved\n"})
	d.On("fs/write_text_file", func(jsonRaw) *acptest.Answer { return refusal(-32603, "read-only buffer") })
	text := mustClose(t, d.Say(id, `edit {"path": "a.txt", "old_text": "unsaved", "new_text": "edited"}`), "failed")
	if !strings.Contains(text, "read-only buffer") || d.read("a.txt") != "saved\n" {
		t.Errorf("told %q, the disk holds %q", text, d.read("a.txt"))
	}
}

func TestLineEndsAndByteOrderMarksOfABufferAreKept(t *testing.T) {
	const bom = "\ufeff"
	for name, c := range map[string]struct{ disk, buffer, want string }{
		"saved, CRLF on disk, LF in the editor":      {"one\r\ntwo\r\n", "one\ntwo\n", "1\r\ntwo\r\n"},
		"saved, BOM on disk, none in the editor":     {bom + "one\r\ntwo\r\n", "one\r\ntwo\r\n", bom + "1\r\ntwo\r\n"},
		"unsaved, CRLF":                              {"one\r\ntwo\r\n", "one\r\nzwei\r\n", "1\r\nzwei\r\n"},
		"unsaved, mixed, no newline at the end":      {"one\r\ntwo\n", "one\r\ntwo\nthree", "1\r\ntwo\nthree"},
		"saved, mixed line ends stay where they are": {"one\r\ntwo\nthree\r\n", "one\ntwo\nthree\n", "1\r\ntwo\nthree\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			d, id := ready(t, withFiles, nil)
			d.write("a.txt", c.disk)
			d.open(map[string]string{"a.txt": c.buffer})
			mustClose(t, d.Say(id, `edit {"path": "a.txt", "old_text": "one", "new_text": "1"}`), "completed")
			if got := d.read("a.txt"); got != c.want {
				t.Errorf("the file is %q, want %q", got, c.want)
			}
		})
	}
}

func TestANewFileThatOnlyTheEditorHolds(t *testing.T) {
	d, id := ready(t, withFiles, nil)
	files := d.open(map[string]string{"new.txt": "never saved\n"})
	if text := mustClose(t, d.Say(id, "read new.txt"), "completed"); !strings.Contains(text, "never saved") {
		t.Errorf("read %q", text)
	}
	mustClose(t, d.Say(id, `write {"path": "new.txt", "content": "lost?\n"}`), "failed")
	mustClose(t, d.Say(id, `edit {"path": "new.txt", "old_text": "never", "new_text": "at last"}`), "completed")
	if text, _ := files.wrote("new.txt"); text != "at last saved\n" {
		t.Errorf("the editor was given %q", text)
	}
}

func TestToolsThatSeeTheDiskNameWhatIsUnsaved(t *testing.T) {
	d, id := ready(t, withFiles, yolo)
	d.write("a.txt", "saved\n")
	d.open(map[string]string{"a.txt": "unsaved\n"})
	const note = "not saved in the editor: a.txt\n"
	if text := mustClose(t, d.Say(id, "bash cat a.txt"), "completed"); strings.Contains(text, note) {
		t.Errorf("noted without a look: %q", text)
	}
	d.Say(id, "read a.txt")
	for _, call := range []string{"bash cat a.txt", "grep saved"} {
		if text := mustClose(t, d.Say(id, call), "completed"); !strings.HasPrefix(strings.TrimPrefix(text, "```\n"), note) {
			t.Errorf("%s answers %q", call, text)
		}
	}
}

func TestASilentClientCostsOneWaitAndOneWarning(t *testing.T) {
	d, id := ready(t, `{"fs":{"readTextFile":true},"session":{"notices":{}}}`, nil)
	d.write("a.txt", "one\n")
	asked := make(chan struct{}, 10)
	d.On("fs/read_text_file", func(jsonRaw) *acptest.Answer { asked <- struct{}{}; return nil })
	updates := d.Say(id, "read a.txt\nread a.txt")
	updates = append(updates, d.Say(id, "read a.txt")...)
	warnings := 0
	for _, u := range updates {
		if u.Kind == "notice" && u.String("severity") == "warning" {
			warnings++
		}
	}
	if warnings != 1 {
		t.Errorf("%d warnings, want one", warnings)
	}
	for _, u := range closing(updates) {
		if u.String("status") != "completed" || !strings.Contains(shown(u), "one") {
			t.Errorf("ended as %v", u.Body)
		}
	}
	if notes := strings.Join(d.Notes(), "\n"); !strings.Contains(notes, "$/cancel_request") {
		t.Error("the requests that were given up were not withdrawn")
	}
}

func TestCancelEndsTheWaitForASilentClient(t *testing.T) {
	d, id := ready(t, withFiles, nil)
	d.write("a.txt", "one\n")
	asked := make(chan struct{}, 1)
	d.On("fs/read_text_file", func(jsonRaw) *acptest.Answer { asked <- struct{}{}; return nil })
	turn := d.Prompt(id, "read a.txt")
	<-asked
	d.Cancel(id)
	turn.Wait("cancelled")
}
