package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// A Store is one session: its events in order, and the file they live in, if any. The file
// only ever grows; what was damaged or missing when it was opened is repaired in memory and
// written before the next event. Its methods may be called from several goroutines.
//
// In dir, session <id> has
//
//	<id>.jsonl       the header and one event a line
//	<id>.partial     text that was shown but whose event is not finished (partial.go)
//	<id>.lock        while a program has it open (lock.go)
//	<id>.output/     what tools keep for it
//	<id>.jsonl.recovery-<time>   the file as it was before damage was cut off
//
// and index.jsonl names all sessions (index.go); .trash holds what was deleted.
type Store struct {
	dir      string // "" in memory
	readonly bool

	mu        sync.Mutex // guards all below; held while writing, since the order of lines is the order of events
	header    Header
	entries   []entry
	unwritten []Event // events no file holds: of a session in memory, or repairs
	file      *os.File
	lock      *lock
	end       int64 // where the next line goes
	unended   bool  // the line before end lacks its newline
	torn      bool  // bytes after end are damaged: keep a copy, cut them off
	dirty     bool  // bytes after end are a failed write of ours: cut them off
	closed    bool
	title     string
	titled    bool // title is what it will stay until the next Name
	warnings  []string
	partial   partialFile
	sync      syncer
	index     indexState

	viewMu sync.Mutex // guards the two below; taken before mu
	view   *view
	viewed int // events the view has taken in
}

var (
	errClosed   = errors.New("the session is closed")
	errReadOnly = errors.New("the session was loaded for reading only")
)

// Create begins a session in dir with header h; an empty ID gets a new one, a zero Created the
// present. Nothing is written before the first Append, so that an editor that opens and closes
// leaves nothing behind.
func Create(dir string, h Header) (*Store, error) {
	h = fresh(h)
	if !validID(h.ID) {
		return nil, fmt.Errorf("creating session %q: an id is made of letters, digits, - and _", h.ID)
	}
	if _, err := os.Lstat(filepath.Join(dir, h.ID+".jsonl")); err == nil {
		return nil, fmt.Errorf("creating session %s: it exists in %s", h.ID, dir)
	}
	return newStore(dir, h), nil
}

// Usable returns why dir can hold no sessions, nil when it can. It makes dir and leaves nothing in it.
func Usable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the folder of sessions: %w", err)
	}
	probe, err := os.CreateTemp(dir, ".usable-*")
	if err != nil {
		return fmt.Errorf("writing to the folder of sessions: %w", err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// InMemory begins a session that behaves as one of Create does and never has a file.
func InMemory(h Header) *Store { return newStore("", fresh(h)) }

func fresh(h Header) Header {
	now := time.Now()
	if h.ID == "" {
		h.ID = NewID(now)
	}
	if h.Created.IsZero() {
		h.Created = now
	}
	h.Version = formatVersion
	return h
}

func newStore(dir string, h Header) *Store {
	return &Store{dir: dir, header: h}
}

// Open opens session id in dir to go on with it. It returns ErrNotFound when there is none and a
// *LockedError when it is open already, here or elsewhere. Nothing on disk changes but the lock.
func Open(dir, id string) (*Store, error) {
	path, err := find(dir, id)
	if err != nil {
		return nil, err
	}
	var l *lock
	err = settled(dir, func() (err error) {
		l, err = acquire(dir, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	s, err := load(dir, id, path, os.O_RDWR)
	if err != nil {
		return nil, errors.Join(err, l.release())
	}
	s.lock = l
	return s, nil
}

// Load opens session id in dir for reading alone, also while a program has it open: what it
// shows is the session as of now. Append on it fails.
func Load(dir, id string) (*Store, error) {
	path, err := find(dir, id)
	if err != nil {
		return nil, err
	}
	s, err := load(dir, id, path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	s.readonly = true
	return s, nil
}

// find returns the path of session id's file. It must be a regular one: a FIFO would block.
func find(dir, id string) (string, error) {
	if !validID(id) {
		return "", fmt.Errorf("opening session %q: %w", id, ErrNotFound)
	}
	path := filepath.Join(dir, id+".jsonl")
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("opening session %s: %w", id, ErrNotFound)
	case err != nil:
		return "", fmt.Errorf("opening session %s: %w", id, err)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("opening session %s: %s is no regular file", id, path)
	}
	return path, nil
}

// load reads the file and the partial beside it and repairs in memory what is missing.
func load(dir, id, path string, flag int) (_ *Store, err error) {
	f, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return nil, fmt.Errorf("opening session %s: %w", id, err)
	}
	defer func() {
		if err != nil {
			_ = f.Close() // the first error is the one to tell
			err = fmt.Errorf("opening session %s: %w", id, err)
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	found, err := scan(f, info.Size())
	if err != nil {
		return nil, err
	}
	s := newStore(dir, found.header)
	s.header.ID = id // the file's name is what everything beside it is named by
	s.file, s.entries, s.warnings = f, found.entries, found.warnings
	s.end, s.unended, s.torn = found.end, found.unended, found.torn
	if found.header.Version > formatVersion {
		s.warnings = append(s.warnings, fmt.Sprintf("the session was written by a newer version (format %d); what this one does not know is kept and left out", found.header.Version))
	}
	return s, s.repair()
}

// ID returns the id of the session.
func (s *Store) ID() string { return s.header.ID }

// Header returns the first line of the session.
func (s *Store) Header() Header { return s.header }

// Path returns the file of the session, which may not exist yet; "" in memory.
func (s *Store) Path() string {
	if s.dir == "" {
		return ""
	}
	return filepath.Join(s.dir, s.header.ID+".jsonl")
}

// OutputDir returns the folder for what tools keep of this session, which is not made here; ""
// in memory.
func (s *Store) OutputDir() string {
	if s.dir == "" {
		return ""
	}
	return filepath.Join(s.dir, s.header.ID+".output")
}

// Len returns the number of events.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.entries)
}

// Warnings returns what was found damaged, skipped or repaired so far, in words for the user.
func (s *Store) Warnings() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.warnings)
}
