package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// Trust is what the user decided about a folder.
type Trust int

// The decisions. Only Trusted lets a project's files change what the agent does.
const (
	Undecided Trust = iota
	Trusted
	Untrusted
)

// String returns "undecided", "trusted" or "untrusted".
func (t Trust) String() string {
	return [...]string{"undecided", "trusted", "untrusted"}[t]
}

// A DamagedError says that trust.json could not be read as such. Kept is the name under which its
// bytes were put aside, "" when the file still lies where it was.
type DamagedError struct {
	File, Kept string
	Err        error
}

func (e *DamagedError) Error() string {
	if e.Kept == "" {
		return fmt.Sprintf("reading %s: %v; no folder counts as trusted until it is repaired or removed", e.File, e.Err)
	}
	return fmt.Sprintf("the decision is stored, but %s was damaged (%v): it was put aside as %s, and earlier decisions are lost", e.File, e.Err, e.Kept)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// Trust returns the decision about the nearest folder at or above dir that has one, so that a
// trusted folder covers all below it and a nearer refusal wins. Links in dir are resolved; case
// does not count on macOS and Windows. With an error it is Undecided, which trusts nothing.
func (h Home) Trust(dir string) (Trust, error) {
	dir, err := resolve(dir)
	if err != nil {
		return Undecided, fmt.Errorf("looking up trust: %w", err)
	}
	if _, err := os.Stat(h.TrustFile()); errors.Is(err, fs.ErrNotExist) {
		return Undecided, nil // the common case leaves nothing behind, not even a lock
	}
	if unlock, err := h.lockTrust(); err == nil { // without a lock, as in a read-only home, reading is still right
		defer unlock()
	}
	book, err := h.readTrust()
	if err != nil {
		return Undecided, err
	}
	return book.nearest(dir), nil
}

// SetTrust stores the decision about dir for all later runs, keeping all others. Several processes
// may do so at once. A *DamagedError means that it was stored, but others were lost.
func (h Home) SetTrust(dir string, trusted bool) (err error) {
	dir, err = resolve(dir)
	if err != nil {
		return fmt.Errorf("storing trust: %w", err)
	}
	if err := os.MkdirAll(string(h), 0o700); err != nil {
		return fmt.Errorf("storing trust of %s: %w", dir, err)
	}
	unlock, err := h.lockTrust()
	if err != nil {
		return fmt.Errorf("storing trust of %s: %w", dir, err)
	}
	defer unlock()
	book, err := h.readTrust()
	var damaged *DamagedError
	if errors.As(err, &damaged) {
		damaged.Kept = fmt.Sprintf("%s.damaged-%d", h.TrustFile(), time.Now().UnixMicro())
		err = os.Rename(h.TrustFile(), damaged.Kept)
	}
	if err != nil {
		return fmt.Errorf("storing trust of %s: %w", dir, err)
	}
	if err := h.writeTrust(book.with(dir, trusted)); err != nil {
		return fmt.Errorf("storing trust of %s: %w", dir, err)
	}
	if damaged != nil {
		return damaged
	}
	return nil
}

// A trustBook is trust.json: resolved folders, and whether each is trusted. What a later version
// may have put beside them is kept.
type trustBook struct {
	folders map[string]bool
	other   map[string]json.RawMessage
}

func (b trustBook) nearest(dir string) Trust {
	decided := make(map[string]Trust, len(b.folders))
	for folder, trusted := range b.folders {
		decision := Untrusted
		if trusted {
			decision = Trusted
		}
		key := fold(filepath.Clean(folder))
		decided[key] = max(decided[key], decision) // of two spellings the refusal wins
	}
	for at := dir; ; at = filepath.Dir(at) {
		if t := decided[fold(at)]; t != Undecided || at == filepath.Dir(at) {
			return t
		}
	}
}

func (b trustBook) with(dir string, trusted bool) trustBook {
	folders := map[string]bool{dir: trusted}
	for folder, old := range b.folders {
		if fold(filepath.Clean(folder)) != fold(dir) {
			folders[folder] = old
		}
	}
	return trustBook{folders: folders, other: b.other}
}

const foldersKey = "folders"

func (h Home) readTrust() (trustBook, error) {
	b := trustBook{}
	data, err := readFile(h.TrustFile())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return b, nil
	case errors.Is(err, fs.ErrPermission):
		return b, fmt.Errorf("reading trust: %w", err)
	case err == nil:
		if err = json.Unmarshal(data, &b.other); err == nil && b.other[foldersKey] != nil {
			err = json.Unmarshal(b.other[foldersKey], &b.folders)
		}
	}
	if err != nil {
		return trustBook{}, &DamagedError{File: h.TrustFile(), Err: err}
	}
	return b, nil
}

func (h Home) writeTrust(b trustBook) error {
	whole := map[string]any{}
	for key, value := range b.other {
		whole[key] = value
	}
	whole[foldersKey] = b.folders
	data, err := json.MarshalIndent(whole, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(h.TrustFile(), append(data, '\n'))
}

// lockTrust waits for the other processes that use trust.json: each holds it for one read and one
// write. Readers lock too, since Windows replaces no file that somebody has open.
func (h Home) lockTrust() (unlock func(), err error) {
	lock := flock.New(h.TrustFile()+".lock", flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return nil, err
	}
	return func() { lock.Close() }, nil
}

// resolve returns the one spelling of dir that trust is stored under.
func resolve(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// fold makes two spellings of one folder equal where the file system ignores case.
func fold(path string) string {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		return strings.ToLower(path)
	}
	return path
}
