package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// While an answer streams or a tool prints, what is shown has no event yet. Each batch of it is
// appended to <id>.partial before it is shown:
//
//	{"at":12,"kind":"text","id":"m3","text":"Let me look"}
//
// "at" is the number of events the session had. The event that finishes the text lands at that
// position or later, so a record that a crash left behind after its event was written is known
// for what it is. The file is emptied, not removed, when all in it is finished.

// A PartialKind says what streams.
type PartialKind string

// The kinds of streamed text.
const (
	PartialText     PartialKind = "text"
	PartialThinking PartialKind = "thinking"
	PartialOutput   PartialKind = "output" // of a tool
)

// A Partial is a batch of streamed text about to be shown.
type Partial struct {
	Kind PartialKind
	ID   string // of the message, or of the call for PartialOutput
	Text string
}

type partialRecord struct {
	At   int         `json:"at"`
	Kind PartialKind `json:"kind"`
	ID   string      `json:"id"`
	Text string      `json:"text"`
}

// partialFile is what a store knows of its <id>.partial.
type partialFile struct {
	file *os.File // nil until it is needed
	end  int64
	open map[string]bool // ids of calls, and "" for the answer, that have unfinished text in it
}

// Partial keeps p until the event that finishes it is appended. When it returns, a kill of the
// process does not lose p.
func (s *Store) Partial(p Partial) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.writable()
	if err == nil && s.dir != "" {
		err = s.partialLocked(p)
	}
	if err != nil {
		return fmt.Errorf("keeping streamed text of session %s: %w", s.header.ID, err)
	}
	return nil
}

func (s *Store) partialLocked(p Partial) error {
	if s.file == nil || len(s.unwritten) > 0 { // "at" counts what is in the file
		if err := s.writeLocked(nil); err != nil {
			return err
		}
	}
	line, err := json.Marshal(partialRecord{len(s.entries), p.Kind, p.ID, p.Text})
	if err != nil {
		return err
	}
	if err := s.openPartialLocked(); err != nil {
		return err
	}
	n, err := s.partial.file.WriteAt(append(line, '\n'), s.partial.end)
	if err != nil {
		return err // what was written of it is written over by the next
	}
	s.partial.end += int64(n)
	s.partial.open[p.key()] = true
	return nil
}

func (p Partial) key() string {
	if p.Kind == PartialOutput {
		return p.ID
	}
	return ""
}

func (s *Store) partialPath() string { return filepath.Join(s.dir, s.header.ID+".partial") }

func (s *Store) openPartialLocked() error {
	if s.partial.file != nil {
		return nil
	}
	return settled(s.dir, func() (err error) {
		// What an earlier process left is in the session as events by now, and may end in a torn line.
		s.partial.file, err = os.OpenFile(s.partialPath(), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
		s.partial.open, s.partial.end = map[string]bool{}, 0
		return err
	})
}

// idlePartial is how many bytes of finished text may stay in a partial. Emptying it each time would
// cost every short answer a change of the file system's own records, and the disk's wait for them.
const idlePartial = 64 << 10

// finishPartialLocked notes that events were written, and empties a long partial when nothing in
// it is unfinished. An answer is written when all before it has ended.
func (s *Store) finishPartialLocked(events []Event) {
	for _, e := range events {
		switch e := e.(type) {
		case Assistant:
			clear(s.partial.open)
		case ToolResult:
			delete(s.partial.open, e.ID)
		}
	}
	if len(s.partial.open) == 0 && s.partial.end > 0 && s.openPartialLocked() == nil {
		s.partial.empty()
	}
}

// empty may fail, or find too little to be worth it: what stays is known by its positions to be
// finished.
func (p *partialFile) empty() {
	if p.end > idlePartial && p.file.Truncate(0) == nil {
		p.end = 0
	}
}

// close removes the file when nothing in it is unfinished.
func (p *partialFile) close() error {
	if p.file == nil {
		return nil
	}
	path := p.file.Name()
	err := p.file.Close()
	if len(p.open) == 0 {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// readPartial returns the records at path; none when there is no file. What is no record, as
// the end of a write that was cut, is left out: it was never shown.
func readPartial(path string) (records []partialRecord, size int64, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("reading what was streamed: %w", err)
	}
	for line := range bytes.Lines(data) {
		var r partialRecord
		if decode(line, &r) {
			records = append(records, r)
		}
	}
	return records, int64(len(data)), nil
}
