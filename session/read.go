package session

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
)

// Event returns the event at position i, counted from 0.
func (s *Store) Event(i int) (Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i < 0 || i >= len(s.entries) {
		return nil, fmt.Errorf("reading session %s: it has no event %d, only %d", s.header.ID, i, len(s.entries))
	}
	e, err := s.event(s.entries[i])
	if err != nil {
		return nil, fmt.Errorf("reading session %s: %w", s.header.ID, err)
	}
	s.checkLocked(i, e)
	return e, nil
}

// event returns the event that x stands for.
func (s *Store) event(x entry) (Event, error) {
	if x.off < 0 {
		return s.unwritten[x.n], nil
	}
	line, err := readLine(s.file, x.off, x.n)
	if err != nil {
		return nil, err
	}
	return DecodeEvent(line), nil
}

// checkLocked notes the damage of a line that scan took for whole and decoding did not.
func (s *Store) checkLocked(i int, e Event) {
	u, ok := e.(Unknown)
	if !ok || string(u.Raw) != damagedRaw || s.entries[i].kind == kindDamaged {
		return
	}
	s.entries[i].kind = kindDamaged
	s.warnings = append(s.warnings, damagedWarning(i+2))
}

// All walks over the events there are now, with their positions. It reads the file in big steps.
// An event that cannot be read is Unknown, and among the warnings.
func (s *Store) All() iter.Seq2[int, Event] { return s.from(0) }

func (s *Store) from(first int) iter.Seq2[int, Event] {
	return func(yield func(int, Event) bool) {
		n := s.Len()
		w := window{}
		for i := first; i < n; i++ {
			if !yield(i, s.next(&w, i)) {
				return
			}
		}
	}
}

// next is Event with a window and without an error.
func (s *Store) next(w *window, i int) Event {
	s.mu.Lock()
	x, file := s.entries[i], s.file
	if x.off < 0 {
		defer s.mu.Unlock()
		return s.unwritten[x.n]
	}
	s.mu.Unlock()
	line, err := w.line(file, x.off, x.n)
	e := Event(Unknown{Raw: json.RawMessage(damagedRaw)})
	if err == nil {
		e = DecodeEvent(line)
	}
	if u, ok := e.(Unknown); ok && string(u.Raw) == damagedRaw {
		s.mu.Lock()
		s.checkLocked(i, e)
		s.mu.Unlock()
	}
	return e
}

// A window reads lines that follow each other with few reads.
type window struct {
	off  int64
	data []byte
	buf  []byte
}

const windowSize = 256 << 10

// line returns the n bytes at off; they are valid until the next call.
func (w *window) line(r io.ReaderAt, off, n int64) ([]byte, error) {
	if off < w.off || off+n > w.off+int64(len(w.data)) {
		if int64(len(w.buf)) < n || w.buf == nil {
			w.buf = make([]byte, max(n, windowSize))
		}
		got, err := r.ReadAt(w.buf, off)
		if int64(got) < n {
			return nil, fmt.Errorf("reading %d bytes at byte %d: %w", n, off, err)
		}
		w.off, w.data = off, w.buf[:got]
	}
	return w.data[off-w.off:][:n], nil
}

// Messages returns what a model is sent: the conversation since the last compaction, each call
// with its result (see view). What it returns is the caller's, though not the contents.
func (s *Store) Messages() []Message {
	s.viewMu.Lock()
	defer s.viewMu.Unlock()
	if at := s.last(kindCompaction); s.view == nil || at >= s.viewed {
		s.beginView(at)
	}
	for i, e := range s.from(s.viewed) {
		s.view.add(e)
		s.viewed = i + 1
	}
	return slices.Clone(s.view.messages)
}

// beginView starts at what the compaction at position at kept; -1 is the start of the session.
func (s *Store) beginView(at int) {
	s.view, s.viewed = newView(nil), 0
	if at < 0 {
		return
	}
	e, err := s.Event(at)
	c, ok := e.(Compaction)
	if err != nil || !ok {
		return // damaged: all is sent rather than less
	}
	s.view, s.viewed = newView(&c), min(max(c.FirstKeptIndex, 0), at)
}

// last returns the position of the last event of kind k, -1 when there is none.
func (s *Store) last(k kind) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastLocked(k)
}

func (s *Store) lastLocked(k kind) int {
	for i := len(s.entries) - 1; i >= 0; i-- {
		if s.entries[i].kind == k {
			return i
		}
	}
	return -1
}

// Mode returns the mode that was set last, "" when none was.
func (s *Store) Mode() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.lastLocked(kindMode); i >= 0 {
		if e, err := s.event(s.entries[i]); err == nil {
			m, _ := MarkOf(e)
			return m.Mode
		}
	}
	return ""
}

// Selection returns the provider and model that were chosen last; ok is false when none were.
func (s *Store) Selection() (sel Selection, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.lastLocked(kindSelection); i >= 0 {
		if e, err := s.event(s.entries[i]); err == nil {
			sel, ok = e.(Selection)
		}
	}
	return sel, ok
}

// Spent returns what the session has cost so far, in US dollars, as far as prices were known.
func (s *Store) Spent() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.entries) - 1; i >= 0; i-- {
		if s.entries[i].kind != kindAssistant {
			continue
		}
		e, err := s.event(s.entries[i])
		if a, ok := e.(Assistant); err == nil && ok && a.Usage != nil {
			return a.Usage.Spent
		}
	}
	return 0
}

// Title returns the name the session was given, else the first words of the first message; ""
// before that.
func (s *Store) Title() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.titleLocked()
}

func (s *Store) titleLocked() string {
	if !s.titled {
		s.title, s.titled = s.findTitle(), true
	}
	return s.title
}

func (s *Store) findTitle() string {
	if i := s.lastLocked(kindName); i >= 0 {
		if e, err := s.event(s.entries[i]); err == nil {
			if n, ok := e.(Name); ok && strings.TrimSpace(n.Name) != "" {
				return oneTitle(n.Name)
			}
		}
	}
	for _, x := range s.entries {
		if x.kind != kindUser {
			continue
		}
		if e, err := s.event(x); err == nil {
			if title := firstWords(e); title != "" {
				return title
			}
		}
	}
	return ""
}

// noteLocked keeps the title right as e is added.
func (s *Store) noteLocked(e Event) {
	switch e := e.(type) {
	case Name:
		s.titled = false
	case User:
		if s.titled && s.title == "" {
			s.title = firstWords(e)
		}
	}
}
