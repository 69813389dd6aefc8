package builtin

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"nimlet/session"
	"nimlet/tooling"
)

const (
	maxRead    = 200_000   // bytes of a file that is shown without a range, and of any answer
	maxLine    = 2_000     // bytes of a line that are shown
	maxPicture = 3_750_000 // bytes; in base64 that is the 5 MB that providers take
)

type read struct{ Config }

type readArgs struct {
	Path      string `json:"path"`
	StartLine int    `json:"start_line"` // 0: the first
	EndLine   int    `json:"end_line"`   // 0: the last
}

func (a readArgs) ranged() bool { return a.StartLine > 0 || a.EndLine > 0 }

// Spec implements tooling.Tool.
func (t read) Spec() tooling.Spec {
	return tooling.Spec{
		Name: "read",
		Description: "Read a file. Answers its path, its version (for edit's expected_version), which lines are shown, and the lines with their numbers. " +
			"A file over 200,000 bytes needs a range of lines. PNG, JPEG, GIF and WebP pictures are shown as pictures.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"path":{"type":"string","minLength":1,"description":"relative to the workspace, or absolute inside it"},` +
			`"start_line":{"type":"integer","minimum":1,"description":"first line to show, counted from 1"},` +
			`"end_line":{"type":"integer","minimum":1,"description":"last line to show"}},` +
			`"required":["path"],"additionalProperties":false}`),
		Capabilities: []tooling.Capability{tooling.Read},
		Kind:         tooling.KindRead,
		Parallel:     true,
	}
}

// Permission implements tooling.Guarded.
func (t read) Permission(session.Call) tooling.Need { return tooling.Need{Free: true} }

// Describe implements tooling.Describer.
func (t read) Describe(call session.Call) (string, []session.Location) {
	args, err := decode[readArgs](call)
	if err != nil || args.Path == "" {
		return "Read a file", nil
	}
	title := "Read " + args.Path
	switch {
	case args.EndLine > 0:
		title += fmt.Sprintf(" (lines %d-%d)", max(args.StartLine, 1), args.EndLine)
	case args.StartLine > 0:
		title += fmt.Sprintf(" (from line %d)", args.StartLine)
	}
	return title, t.Workspace.places(args.Path, max(args.StartLine, 1))
}

// Run implements tooling.Tool.
func (t read) Run(ctx context.Context, _ tooling.Env, call session.Call) (session.Result, error) {
	args, err := decode[readArgs](call)
	if err != nil {
		return failed(err), nil
	}
	if args.EndLine > 0 && args.EndLine < args.StartLine {
		return failed(fmt.Errorf("end_line %d comes before start_line %d", args.EndLine, args.StartLine)), nil
	}
	place, err := t.Workspace.Resolve(args.Path, ForReading)
	if err != nil {
		return failed(err), nil
	}
	r, err := t.show(ctx, place, args)
	r.Locations = []session.Location{{Path: place.Name, Line: max(args.StartLine, 1)}}
	return answer(ctx, r, err)
}

// show answers with what stands at place: a picture, a range of a large file, or a text.
func (t read) show(ctx context.Context, place Place, args readArgs) (session.Result, error) {
	f, info, err := place.open()
	if err == nil {
		defer f.Close()
		head, err := readUpTo(f, nil, headSize)
		if err != nil {
			return session.Result{}, place.explain("reading", err)
		}
		if kind := contentType(head); isPicture(kind) {
			return picture(place, kind)
		}
		if info.Size() > maxWhole {
			return t.large(ctx, place, f, head, args)
		}
	}
	d, err := t.load(ctx, place)
	if err == nil && !d.exists {
		err = place.explain("reading", os.ErrNotExist)
	}
	if err == nil && len(d.text) > maxRead && !args.ranged() {
		err = tooLong(place, len(d.text), countLines(d.text))
	}
	if err != nil {
		return session.Result{}, err
	}
	page := page{first: args.StartLine, last: args.EndLine}
	if err := page.scan(ctx, strings.NewReader(d.text)); err != nil {
		return session.Result{}, err
	}
	notes := []string{d.form.String(), endings(d.text)}
	if d.unsaved {
		notes = append(notes, "with changes not saved in the editor")
	}
	return page.result(place, version(d.text), notes)
}

// tooLong asks for a range of a file of size bytes and lines lines.
func tooLong(place Place, size, lines int) error {
	return fmt.Errorf("%s has %d bytes in %d lines, and at most %d bytes are shown at once; give start_line and end_line", place.Short, size, lines, maxRead)
}

// large shows a range of a file that is too large to be held: it is read through once, for its
// version and the number of its lines. The editor is not asked, as it would have to send it all.
func (t read) large(ctx context.Context, place Place, f *os.File, head []byte, args readArgs) (session.Result, error) {
	if name := binaryName(head); name != "" || strings.HasPrefix(string(head), markLE) || strings.HasPrefix(string(head), markBE) {
		return session.Result{}, fmt.Errorf("%s is %s, not text that can be shown", place.Short, orBinary(name))
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return session.Result{}, place.explain("reading", err)
	}
	sum := newVersion()
	page := page{first: args.StartLine, last: args.EndLine}
	if err := page.scan(ctx, io.TeeReader(f, sum)); err != nil {
		return session.Result{}, err
	}
	if !args.ranged() {
		return session.Result{}, tooLong(place, sum.size, page.lines)
	}
	return page.result(place, sum.String(), nil)
}

func picture(place Place, kind string) (session.Result, error) {
	data, _, err := place.read(maxPicture)
	if err != nil {
		return session.Result{}, fmt.Errorf("showing a picture: %w", err)
	}
	return session.Result{
		Output: fmt.Sprintf("path %s\nversion %s\n%s, %d bytes", place.Short, version(string(data)), kind, len(data)),
		Images: []session.Image{{MIMEType: kind, Data: base64.StdEncoding.EncodeToString(data)}},
	}, nil
}

// A page is a range of the lines of a text, gathered while the text goes by.
type page struct {
	first, last int // lines wanted, from 1; 0: no bound

	lines int // lines seen
	shown int // number of the last line in out
	out   strings.Builder
	full  bool // out holds all that one answer may
}

// scan reads r to its end. It never holds more than one answer.
func (p *page) scan(ctx context.Context, r io.Reader) error {
	in := bufio.NewReaderSize(r, 64<<10)
	buffer := make([]byte, 0, maxLine+2)
	for {
		line, size, err := nextLine(in, buffer)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading line %d: %w", p.lines+1, err)
		}
		p.lines++
		p.take(line, size)
		if p.lines%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// nextLine reads a line and returns its beginning, at most maxLine bytes, and its size in bytes
// without the line end. The line is in buffer, which the next one may use again.
func nextLine(in *bufio.Reader, buffer []byte) (line []byte, size int, err error) {
	line = buffer[:0]
	for err = bufio.ErrBufferFull; errors.Is(err, bufio.ErrBufferFull); {
		var piece []byte
		piece, err = in.ReadSlice('\n')
		size += len(piece)
		// Two more than are shown: a line end may still be taken off.
		line = append(line, piece[:min(len(piece), maxLine+2-len(line))]...)
	}
	if err != nil && (size == 0 || !errors.Is(err, io.EOF)) {
		return nil, 0, err
	}
	whole := size == len(line)
	if err == nil {
		size--
	}
	line = line[:min(len(line), size)]
	if whole && bytes.HasSuffix(line, []byte("\r")) {
		size--
	}
	return line[:min(len(line), size, maxLine)], size, nil
}

// take adds the line just counted if it is one of those wanted.
func (p *page) take(line []byte, size int) {
	if p.lines < p.first || p.last > 0 && p.lines > p.last || p.full {
		return
	}
	if p.out.Len()+len(line) > maxRead {
		p.full = true
		return
	}
	fmt.Fprintf(&p.out, "%6d\t%s", p.lines, printable(line))
	if size > maxLine {
		fmt.Fprintf(&p.out, " [… %d more bytes in this line]", size-maxLine)
	}
	p.out.WriteByte('\n')
	p.shown = p.lines
}

// result heads the page with what read promises: path, version, and which lines these are.
func (p *page) result(place Place, version string, notes []string) (session.Result, error) {
	first := max(p.first, 1)
	if p.lines > 0 && first > p.lines {
		return session.Result{}, fmt.Errorf("start_line %d is beyond the end of %s, which has %d lines", first, place.Short, p.lines)
	}
	if p.lines == 0 {
		first = 0
	}
	head := fmt.Sprintf("path %s\nversion %s\nlines %d-%d of %d", place.Short, version, first, p.shown, p.lines)
	for _, note := range notes {
		if note != "" {
			head += ", " + note
		}
	}
	tail := ""
	if p.full {
		tail = fmt.Sprintf("[cut at %d bytes; go on with start_line %d]\n", maxRead, p.shown+1)
	}
	return session.Result{Output: head + "\n" + p.out.String() + tail}, nil
}
