package session

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// ErrNotFound is returned for an id that no session has.
var ErrNotFound = errors.New("no such session")

// A LockedError says that another program, or this one, has the session open.
type LockedError struct {
	ID     string
	Holder string // pid, program and since when; "" when that could not be read
}

func (e *LockedError) Error() string {
	holder := e.Holder
	if holder == "" {
		holder = "another program"
	}
	return fmt.Sprintf("session %s is open in %s: close it there, or start another session", e.ID, holder)
}

// A lock is a held <id>.lock. The system ends it with the process, so that a lock file left
// behind by a crash is no obstacle.
type lock struct{ file *flock.Flock }

// holderOffset is where the holder's text begins in a lock file. On Windows byte 0 is what is
// locked, and nobody else could read it.
const holderOffset = 1

// acquire takes the lock of session id in dir, or returns a *LockedError.
func acquire(dir, id string) (*lock, error) {
	path := filepath.Join(dir, id+".lock")
	for {
		f := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
		held, err := f.TryLock()
		if err != nil {
			return nil, fmt.Errorf("locking session %s: %w", id, err)
		}
		if !held {
			_ = f.Close() // nothing is held
			return nil, &LockedError{ID: id, Holder: holder(path)}
		}
		if current(f, path) {
			l := &lock{f}
			l.sign(path)
			return l, nil
		}
		_ = f.Close() // whoever had it removed the file between our open and our lock: another round
	}
}

// current says whether path still names the file that f locked.
func current(f *flock.Flock, path string) bool {
	locked, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(locked, named)
}

// sign writes who holds the lock. It is a courtesy to whoever is refused: no failure matters.
func (l *lock) sign(path string) {
	program, err := os.Executable()
	if err != nil {
		program = os.Args[0]
	}
	text := fmt.Sprintf("process %d (%s) since %s\n", os.Getpid(), filepath.Base(program), time.Now().Format(time.DateTime))
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	_ = f.Truncate(0)
	_, _ = f.WriteAt([]byte(text), holderOffset)
}

// holder reads what sign wrote; "" when there is nothing.
func holder(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.NewSectionReader(f, holderOffset, 1024))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(bytes.ToValidUTF8(text, nil)))
}

// release removes the lock file and then lets go. It is removed while it is held, so that
// nobody can lock a file that is about to vanish and believe it theirs (current finds out);
// Windows refuses to remove an open file, so there it is removed after.
func (l *lock) release() error {
	path := l.file.Path()
	removed := os.Remove(path) == nil
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("releasing %s: %w", path, err)
	}
	if !removed {
		_ = os.Remove(path) // refused when the next one has it open already, which is as well
	}
	return nil
}
