package builtin

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"
)

// maxKept is how much of one output is kept in a file, in bytes: a command that writes for ever
// must not fill the disk.
const maxKept = 1 << 30

// defaultOutput is how much of an output a result holds when Config.MaxOutput says nothing.
const defaultOutput = 100_000

// An output collects what a command writes: it shows it as it comes, holds the end of it for the
// result, and puts the whole into a file once it is longer than that. What it takes in is text:
// bytes that are no UTF-8 become U+FFFD, and NULs are dropped. Memory stays flat.
type output struct {
	progress func(string)
	most     int    // bytes of the end that are held
	dir      string // where the file goes; "" for none
	name     string // part of the file's name

	partial []byte // the begin of a character whose other bytes have not come yet
	tail    []byte // the end of the text; all of it as long as total is at most most
	total   int64  // bytes of the text
	file    *os.File
	kept    int64 // bytes in the file
	lost    error // why the file does not hold all
}

func newOutput(c Config, call string, progress func(string)) *output {
	most := c.MaxOutput
	if most <= 0 {
		most = defaultOutput
	}
	return &output{progress: progress, most: most, dir: c.OutputDir, name: fileSafe(call)}
}

// fileSafe makes an id, which a model's provider made up, a part of a file's name.
func fileSafe(id string) string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return -1
	}, id)
	return safe[:min(len(safe), 60)]
}

// Write implements io.Writer. It never fails: a command must not end for want of disk.
func (o *output) Write(p []byte) (int, error) {
	n := len(p)
	if len(o.partial) > 0 {
		p = append(o.partial, p...)
		o.partial = nil
	}
	if cut := incomplete(p); cut > 0 {
		o.partial = bytes.Clone(p[len(p)-cut:])
		p = p[:len(p)-cut]
	}
	o.add(p)
	return n, nil
}

// incomplete returns how many bytes at the end of p begin a character and do not end it.
func incomplete(p []byte) int {
	for n := 1; n <= min(len(p), utf8.UTFMax-1); n++ {
		if last := p[len(p)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}

// finish takes in what is left and closes the file.
func (o *output) finish() {
	o.add(o.partial)
	o.partial = nil
	if o.file == nil {
		return
	}
	if err := o.file.Close(); err != nil && o.lost == nil {
		o.lost = err
	}
}

// add takes in the bytes of whole characters.
func (o *output) add(p []byte) {
	if !utf8.Valid(p) {
		p = []byte(replaceInvalid(p))
	}
	if bytes.IndexByte(p, 0) >= 0 {
		p = bytes.ReplaceAll(p, []byte{0}, nil)
	}
	if len(p) == 0 {
		return
	}
	o.tail = append(o.tail, p...)
	o.total += int64(len(p))
	switch {
	case o.file != nil:
		o.keep(p)
	case o.total > int64(o.most) && o.lost == nil && o.dir != "":
		o.open()
	}
	if len(o.tail) > 2*o.most {
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-o.most:]...)
	}
	o.progress(string(p))
}

// replaceInvalid is strings.ToValidUTF8 with a U+FFFD for each bad byte.
func replaceInvalid(p []byte) string {
	var text strings.Builder
	for _, r := range string(p) {
		text.WriteRune(r)
	}
	return text.String()
}

// open begins the file with what has come so far, all of which is still in the tail.
func (o *output) open() {
	o.lost = os.MkdirAll(o.dir, 0o700)
	if o.lost == nil {
		o.file, o.lost = os.CreateTemp(o.dir, "bash-"+o.name+"-*.txt")
	}
	if o.lost == nil {
		o.keep(o.tail)
	}
}

// keep adds text to the file, until that fails once.
func (o *output) keep(text []byte) {
	if o.lost != nil {
		return
	}
	if o.kept+int64(len(text)) > maxKept {
		o.lost = fmt.Errorf("no more than %d bytes are kept", maxKept)
		return
	}
	n, err := o.file.Write(text)
	o.kept += int64(n)
	o.lost = err
}

// text returns the output for the model: all of it, or its end below a line that says where the
// whole is. It is called after finish.
func (o *output) text() string {
	if o.total <= int64(o.most) {
		if o.total == 0 {
			return "no output\n"
		}
		return "\n" + string(o.tail)
	}
	end := lastLines(o.tail[len(o.tail)-o.most:])
	return fmt.Sprintf("the output has %d bytes; its last %d are shown, %s\n\n%s", o.total, len(end), o.whole(), end)
}

// whole says where the whole output is.
func (o *output) whole() string {
	switch {
	case o.file != nil && o.lost == nil:
		return "all of it is in " + o.file.Name()
	case o.file != nil:
		return fmt.Sprintf("its first %d are in %s (%v)", o.kept, o.file.Name(), o.lost)
	case o.lost != nil:
		return fmt.Sprintf("the rest is lost: it could not be kept in a file (%v)", o.lost)
	default:
		return "the rest is not kept"
	}
}

// lastLines drops the broken character or the rest of a line that p begins with.
func lastLines(p []byte) []byte {
	const most = 2000 // bytes of a line that are worth less than a clean begin
	if i := bytes.IndexByte(p, '\n'); i >= 0 && i < most && i+1 < len(p) {
		return p[i+1:]
	}
	for len(p) > 0 && !utf8.RuneStart(p[0]) {
		p = p[1:]
	}
	return p
}
