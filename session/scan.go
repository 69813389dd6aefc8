package session

import (
	"bytes"
	"fmt"
	"io"
)

// An entry is one event of a store: a line of its file, or one that no file holds yet.
type entry struct {
	off  int64 // where the line begins; -1 when it is not in the file
	n    int64 // its length without the newline; with off -1, the index in Store.unwritten
	kind kind
}

// A scanned is what a walk over the lines of a session file found.
type scanned struct {
	header   Header
	headed   bool // line 1 is a header
	entries  []entry
	end      int64 // length of the part that stays: whole lines, and a whole last one without newline
	unended  bool  // the last line lacks its newline
	torn     bool  // bytes after end are damaged
	warnings []string
}

const scanBlock = 256 << 10

// scan finds the lines of a session file of the given size. It looks at the first and last bytes
// of each and decodes almost none, so that its speed is that of the disk. What only decoding can
// show as damaged is found when the event is read.
func scan(r io.ReaderAt, size int64) (scanned, error) {
	s := scanned{}
	line := lineScan{}
	block := make([]byte, min(scanBlock, size))
	for off := int64(0); off < size; {
		n, err := r.ReadAt(block[:min(int64(len(block)), size-off)], off)
		if n == 0 {
			return s, fmt.Errorf("reading at byte %d: %w", off, err)
		}
		for rest := block[:n]; len(rest) > 0; {
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				line.add(rest)
				break
			}
			line.add(rest[:end])
			if err := s.take(r, line, false); err != nil {
				return s, err
			}
			line = lineScan{off: line.off + line.n + 1}
			s.end, rest = line.off, rest[end+1:]
		}
		off += int64(n)
	}
	return s, s.takeTail(r, line)
}

// take adds a line that ended with a newline, or, tail, the last one when it is whole.
func (s *scanned) take(r io.ReaderAt, l lineScan, tail bool) error {
	k, sure := l.kind()
	if !sure {
		raw, err := readLine(r, l.off, l.n)
		if err != nil {
			return err
		}
		skip := int64(len(raw) - len(bytes.TrimLeft(raw, "\x00"))) // a block that a power cut left empty
		l.off, l.n = l.off+skip, l.n-skip
		k = kindWhole(raw[skip:])
		if skip > 0 && k != kindDamaged {
			s.warn("line %d has bytes before it that were never written; what was there is lost", s.line())
		}
	}
	if k == kindDamaged && !tail {
		s.warn("line %d is damaged and was skipped", s.line())
	}
	if first := len(s.entries) == 0 && !s.headed; first && (k == kindHeader || k == kindDamaged) {
		return s.takeHeader(r, l)
	}
	if k == kindHeader {
		k = kindUnknown
	}
	s.entries = append(s.entries, entry{off: l.off, n: l.n, kind: k})
	return nil
}

// takeHeader reads line 1. A damaged one counts as the header too: the events after it must keep
// their positions.
func (s *scanned) takeHeader(r io.ReaderAt, l lineScan) error {
	raw, err := readLine(r, l.off, l.n)
	if err != nil {
		return err
	}
	s.header, _ = decodeHeader(raw)
	s.headed = true
	return nil
}

// takeTail looks at what follows the last newline. A whole event there lost no more than its
// newline; anything else is what a write left when it was cut.
func (s *scanned) takeTail(r io.ReaderAt, l lineScan) error {
	if l.n == 0 {
		return nil
	}
	raw, err := readLine(r, l.off, l.n)
	if err != nil {
		return err
	}
	if kindWhole(raw) == kindDamaged {
		s.torn = true
		s.warn("line %d was not written whole; its %d bytes are kept aside when the session goes on", s.line(), l.n)
		return nil
	}
	s.end, s.unended = l.off+l.n, true
	return s.take(r, l, true)
}

// line is the number of the line that comes next, which is the id of its entry.
func (s *scanned) line() int {
	if s.headed {
		return len(s.entries) + 2
	}
	return len(s.entries) + 1
}

func (s *scanned) warn(format string, args ...any) {
	s.warnings = append(s.warnings, fmt.Sprintf(format, args...))
}

// A lineScan is what scan keeps of a line that passes by in blocks.
type lineScan struct {
	off, n int64
	head   [headSize]byte
	last   byte
	nul    bool // no JSON has a NUL byte: such a line was damaged
}

func (l *lineScan) add(part []byte) {
	if len(part) == 0 {
		return
	}
	if l.n < headSize {
		copy(l.head[l.n:], part)
	}
	l.n += int64(len(part))
	l.last = part[len(part)-1]
	l.nul = l.nul || bytes.IndexByte(part, 0) >= 0
}

// kind tells the line's kind; sure is false when it must be read whole for that.
func (l *lineScan) kind() (k kind, sure bool) {
	if l.nul || l.last != '}' {
		return 0, false
	}
	return sniff(l.head[:min(l.n, headSize)])
}

func readLine(r io.ReaderAt, off, n int64) ([]byte, error) {
	line := make([]byte, n)
	if read, err := r.ReadAt(line, off); int64(read) < n {
		return nil, fmt.Errorf("reading %d bytes at byte %d: %w", n, off, err)
	}
	return line, nil
}
