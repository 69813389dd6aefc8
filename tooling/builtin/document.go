package builtin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"nimlet/session"
)

// maxWhole bounds the files that are read as a whole, in bytes. Larger ones are read by ranges,
// from the disk alone, and not edited.
const maxWhole = 16 << 20

// A document is the text of a file as an edit finds it: the editor's where that is ahead of the
// disk, else the disk's.
type document struct {
	place   Place
	exists  bool // on disk or in the editor
	text    string
	form    encoding // of the file on disk
	unsaved bool     // text is the editor's
	info    fs.FileInfo
	disk    []byte // nil when there is no file
}

// load reads the text at place. A file that does not exist is a document that says so. Text that
// is none is refused by name of what it is.
func (c Config) load(ctx context.Context, place Place) (document, error) {
	d := document{place: place}
	var err error
	d.disk, d.info, err = place.read(maxWhole)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return d, err
	}
	d.exists = err == nil
	d.text, d.form = decodeText(d.disk)
	if c.Buffers != nil {
		if text, unsaved := c.Buffers.Unsaved(ctx, place.Name, d.disk); unsaved {
			d.text, d.unsaved, d.exists = strings.TrimPrefix(text, bom), true, true
		}
		c.Buffers.Saw(place.Name, d.disk)
	}
	if name := binaryName(d.disk[:min(len(d.disk), headSize)]); !d.unsaved && (name != "" || d.form == unknown) {
		return d, fmt.Errorf("%s is %s, not text", place.Short, orBinary(name))
	}
	return d, nil
}

func orBinary(name string) string {
	if name == "" {
		return "binary data"
	}
	return name
}

// store makes text the content of d: in the editor where it takes it, else on disk, in the
// encoding the file had.
func (c Config) store(ctx context.Context, d document, text string) error {
	data, err := encodeText(text, d.form)
	if err != nil {
		return fmt.Errorf("writing %s: %w", d.place.Short, err)
	}
	if err := d.place.makeParent(); err != nil {
		return err
	}
	if c.Buffers != nil {
		handled, err := c.Buffers.Write(ctx, d.place.Name, text, d.unsaved)
		if err != nil {
			return fmt.Errorf("writing %s through the editor: %w", d.place.Short, err)
		}
		if handled {
			return c.lookAgain(d.place)
		}
	}
	if err := d.place.replace(data, d.info); err != nil {
		return err
	}
	if c.Buffers != nil {
		c.Buffers.Saw(d.place.Name, data)
	}
	return nil
}

// lookAgain tells the editor's side what its write has left on disk, which only the editor knew.
func (c Config) lookAgain(p Place) error {
	disk, _, err := p.read(maxWhole)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	c.Buffers.Saw(p.Name, disk)
	return nil
}

// makeParent makes the folders that p lies in.
func (p Place) makeParent() error {
	dir := filepath.Dir(p.rel)
	if dir == "." {
		return nil
	}
	if err := p.in.root.MkdirAll(dir, 0o777); err != nil {
		return p.explain("making the folder of", err)
	}
	return nil
}

// changed is what a result tells of d having become text: the diff and where it begins.
func (d document) changed(text string) (session.Diff, session.Location) {
	diff := session.Diff{Path: d.place.Name, New: text}
	if d.exists {
		diff.Old = &d.text
	}
	return diff, session.Location{Path: d.place.Name, Line: firstDifference(d.text, text)}
}

// firstDifference is the 1-based line in which b begins to differ from a.
func firstDifference(a, b string) int {
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	return 1 + strings.Count(b[:same], "\n")
}
