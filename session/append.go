package session

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Append adds events to the session. They are written with one call and whole before it returns,
// so that a kill of the process loses none of them; Flush waits for the disk itself. After an
// error the session is as it was before.
func (s *Store) Append(events ...Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writable(); err != nil {
		return fmt.Errorf("appending to session %s: %w", s.header.ID, err)
	}
	if len(events) == 0 {
		return nil
	}
	if s.dir == "" {
		return s.holdAsRead(events)
	}
	if err := s.writeLocked(events); err != nil {
		return fmt.Errorf("appending to session %s: %w", s.header.ID, err)
	}
	s.finishPartialLocked(events)
	return nil
}

func (s *Store) writable() error {
	switch {
	case s.closed:
		return errClosed
	case s.readonly:
		return errReadOnly
	}
	return s.sync.failure()
}

// hold adds events that no file holds, or not yet.
func (s *Store) hold(events []Event) {
	for _, e := range events {
		s.entries = append(s.entries, entry{off: -1, n: int64(len(s.unwritten)), kind: kindOf(e)})
		s.unwritten = append(s.unwritten, e)
		s.noteLocked(e)
	}
}

// holdAsRead holds events of a session in memory as a file would give them back.
func (s *Store) holdAsRead(events []Event) error {
	read := make([]Event, len(events))
	for i, e := range events {
		line, err := EncodeEvent(e)
		if err != nil {
			return fmt.Errorf("appending to session %s: %w", s.header.ID, err)
		}
		read[i] = DecodeEvent(line)
	}
	s.hold(read)
	return nil
}

// writeLocked writes the repairs that wait, and events, in one piece.
func (s *Store) writeLocked(events []Event) error {
	all := append(s.unwritten[:len(s.unwritten):len(s.unwritten)], events...)
	batch, spans, err := s.encodeLocked(all)
	if err != nil {
		return err
	}
	if err := s.readyLocked(); err != nil {
		return err
	}
	s.announceLocked(events)
	if err := s.putLocked(batch); err != nil {
		return err
	}
	held := len(s.entries) - len(s.unwritten)
	s.entries, s.unwritten = append(s.entries[:held], spans...), nil
	for _, e := range events {
		s.noteLocked(e)
	}
	s.sync.appended()
	return nil
}

// encodeLocked returns the bytes to write at s.end and the entries they make.
func (s *Store) encodeLocked(events []Event) (batch []byte, spans []entry, err error) {
	switch {
	case s.end == 0:
		if batch, err = encodeHeader(s.header); err != nil {
			return nil, nil, err
		}
		batch = append(batch, '\n')
	case s.unended:
		batch = []byte{'\n'}
	}
	for _, e := range events {
		line, err := EncodeEvent(e)
		if err != nil {
			return nil, nil, err
		}
		spans = append(spans, entry{off: s.end + int64(len(batch)), n: int64(len(line)), kind: kindOf(e)})
		batch = append(append(batch, line...), '\n')
	}
	return batch, spans, nil
}

// readyLocked makes the file and its lock when there is none, and cuts off what is damaged.
func (s *Store) readyLocked() error {
	if s.file == nil {
		return settled(s.dir, s.createLocked)
	}
	if s.torn {
		if err := s.keepAside(); err != nil {
			return fmt.Errorf("keeping a copy of the damaged file: %w", err)
		}
		s.torn, s.dirty = false, true
	}
	if s.dirty {
		if err := s.file.Truncate(s.end); err != nil {
			return fmt.Errorf("cutting off what was not written whole: %w", err)
		}
		s.dirty = false
	}
	return nil
}

func (s *Store) createLocked() error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	l, err := acquire(s.dir, s.header.ID)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(s.Path(), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		_ = l.release() // the first error is the one to tell
		return err
	}
	s.file, s.lock = f, l
	return nil
}

// putLocked writes batch at the end of the file, or leaves the file as it was. What could not be
// undone is cut off by the next write.
func (s *Store) putLocked(batch []byte) error {
	if _, err := s.file.WriteAt(batch, s.end); err != nil {
		s.dirty = s.file.Truncate(s.end) != nil
		return fmt.Errorf("nothing was written; free some space on the disk or check it, then try again: %w", err)
	}
	s.end, s.unended = s.end+int64(len(batch)), false
	return nil
}

// keepAside copies the file, damage and all, to <id>.jsonl.recovery-<time>.
func (s *Store) keepAside() error {
	path := s.Path() + ".recovery-" + time.Now().UTC().Format("20060102T150405.000000")
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = s.copyTo(to)
	if err = errors.Join(err, to.Close()); err != nil {
		return errors.Join(err, os.Remove(path)) // half a copy would only mislead
	}
	s.warnings = append(s.warnings, "the damaged file was kept as "+filepath.Base(path))
	return nil
}

func (s *Store) copyTo(to *os.File) error {
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, io.NewSectionReader(s.file, 0, info.Size())); err != nil {
		return err
	}
	return to.Sync()
}
