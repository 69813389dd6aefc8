package builtin

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// A scanner searches one file after another, in memory that it keeps.
type scanner struct {
	query
	hints hints  // nil: every line is tried
	block []byte // made when it is needed
}

// A hints finds, faster than the pattern would, the lines that may match: a finder or a sieve.
type hints interface {
	reset(text []byte)
	// find returns a place in the first such line at or after from, where a line begins; -1 when
	// there is none.
	find(from int) int
}

// shortLiteral is the length in bytes below which a literal is too common to help.
const shortLiteral = 3

func newScanner(q query) *scanner {
	s := &scanner{query: q}
	literals := literalsOf(q.tree)
	if worth(literals) < worth([]literal{{text: "abc"[:shortLiteral]}}) {
		if sieve := newSieve(q.tree); sieve != nil {
			s.hints = sieve
			return s
		}
	}
	if literals != nil {
		s.hints = newFinder(literals)
	}
	return s
}

// file searches the file name of dir. What cannot be read is passed over.
func (s *scanner) file(dir *os.Root, name, path string, found *matches) {
	f, err := dir.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		_ = s.scan(f, path, found) // what was found before an error is still good
	}
}

// scan searches r block by block. Each block ends with a line, save one that is too long for that.
// A file with a NUL in its first block is no text and has no matches.
func (s *scanner) scan(r io.Reader, path string, found *matches) error {
	if s.block == nil {
		s.block = make([]byte, blockSize)
	}
	var file []match
	defer func() { found.add(file) }()
	n, err := io.ReadFull(r, s.block)
	switch head := s.block[:n]; {
	case bytes.HasPrefix(head, []byte(markLE)), bytes.HasPrefix(head, []byte(markBE)):
		file, err = s.wide(io.MultiReader(bytes.NewReader(head), r), path, found.max)
		return err
	case bytes.IndexByte(head, 0) >= 0:
		return nil
	}
	line, held := 1, 0
	for {
		data := s.block[:held+n]
		end := s.wholeLines(data, err != nil)
		file = s.lines(data[:end], path, &line, file, found.max)
		if err != nil || len(file) >= found.max {
			return unlessEnd(err)
		}
		held = copy(s.block, data[end:])
		n, err = io.ReadFull(r, s.block[held:])
	}
}

// wide searches UTF-16.
func (s *scanner) wide(r io.Reader, path string, max int) ([]match, error) {
	data, err := readUpTo(r, nil, maxBlock)
	text, _ := decodeText(data)
	line := 1
	return s.lines([]byte(text), path, &line, nil, max), err
}

// wholeLines returns how much of data, which fills the block unless it is the last, is lines. When
// not one is whole the block grows and it is 0, up to maxBlock.
func (s *scanner) wholeLines(data []byte, last bool) int {
	end := bytes.LastIndexByte(data, '\n') + 1
	switch {
	case last || end == 0 && len(s.block) >= maxBlock:
		return len(data)
	case end == 0:
		s.block = append(s.block, make([]byte, len(s.block))...)
	}
	return end
}

func unlessEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// lines adds to file the lines of data that match, until there are max. line is the number of the
// first line of data, and then of the first after it.
func (s *scanner) lines(data []byte, path string, line *int, file []match, max int) []match {
	if *line == 1 {
		data = bytes.TrimPrefix(data, []byte(bom))
	}
	if s.hints != nil {
		s.hints.reset(data)
	}
	counted := 0 // *line is that of the line that begins here
	for start := s.candidate(data, 0); start >= 0 && len(file) < max; {
		end := len(data)
		if i := bytes.IndexByte(data[start:], '\n'); i >= 0 {
			end = start + i
		}
		text := bytes.TrimSuffix(data[start:end], []byte("\r"))
		if s.pattern.Match(text) {
			*line += bytes.Count(data[counted:start], []byte("\n"))
			counted = start
			file = append(file, match{path, *line, s.clip(text, len(text))})
		}
		start = s.candidate(data, end+1)
	}
	*line += bytes.Count(data[counted:], []byte("\n"))
	return file
}

// candidate returns where the next line begins that may match, at or after from, which is where a
// line begins; -1 when there is none.
func (s *scanner) candidate(data []byte, from int) int {
	if from >= len(data) {
		return -1
	}
	if s.hints == nil {
		return from
	}
	hit := s.hints.find(from)
	if hit < 0 {
		return -1
	}
	return from + bytes.LastIndexByte(data[from:hit], '\n') + 1
}

const (
	shownLine   = 500 // bytes of a matching line that are shown
	shownBefore = 100 // of these, before the match
	maxClipped  = 64 << 10
)

// clip cuts a long line, of size bytes of which line is the beginning, to the part around its first
// match.
func (q query) clip(line []byte, size int) string {
	if len(line) <= shownLine {
		return printable(line)
	}
	start := 0
	if at := q.pattern.FindIndex(line[:min(len(line), maxClipped)]); at != nil {
		start = max(0, min(at[0]-shownBefore, len(line)-shownLine))
	}
	end := start + shownLine
	out := printable(line[start:end]) + fmt.Sprintf(" [… line of %d bytes]", size)
	if start > 0 {
		out = "… " + out
	}
	return out
}

// printable is text without what a model cannot be sent.
func printable(text []byte) string {
	return strings.ReplaceAll(strings.ToValidUTF8(string(text), "\uFFFD"), "\x00", "\uFFFD")
}
