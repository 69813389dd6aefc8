package tooling

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// A grantStore is the part of the grants file that belongs to one folder. The file is shared by
// all sessions of the user: it is read afresh at each question, and changed under a lock, so
// that none loses what another wrote.
type grantStore struct {
	path   string // "" for none
	folder string

	mu     sync.Mutex
	warned string // the last warning given for a file that cannot be used
}

// grantsFile is the form of the file.
type grantsFile struct {
	Version int                 `json:"version"`
	Folders map[string][]string `json:"folders"` // keys granted, by folder
}

const grantsVersion = 1

// errDamaged marks a file that is no grants file and is put aside at the next change. A file
// that cannot be read, or that a later version wrote, is left as it is.
var errDamaged = errors.New("the file is damaged")

// load returns the keys granted for the folder. A file that cannot be used grants nothing; the
// warning says so, once for each cause.
func (g *grantStore) load() (keys []string, warning string) {
	if g.path == "" {
		return nil, ""
	}
	file, err := readGrants(g.path)
	if err == nil {
		return file.Folders[g.folder], g.warnOnce("")
	}
	return nil, g.warnOnce(fmt.Sprintf("the grants in %s do not count: %v", g.path, err))
}

func (g *grantStore) warnOnce(warning string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.warned == warning {
		return ""
	}
	g.warned = warning
	return warning
}

// add stores a grant of key. A damaged file is kept aside first, which the warning says.
func (g *grantStore) add(key string) (warning string, err error) {
	return g.change(func(f *grantsFile) {
		if !slices.Contains(f.Folders[g.folder], key) {
			f.Folders[g.folder] = append(f.Folders[g.folder], key)
		}
	})
}

// clear takes back all grants of the folder.
func (g *grantStore) clear() error {
	if g.path == "" {
		return nil
	}
	if _, err := os.Stat(g.path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_, err := g.change(func(f *grantsFile) { delete(f.Folders, g.folder) })
	return err
}

// change rewrites the file under its lock.
func (g *grantStore) change(edit func(*grantsFile)) (warning string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("changing the grants in %s: %w", g.path, err)
		}
	}()
	if err := os.MkdirAll(filepath.Dir(g.path), 0o700); err != nil {
		return "", err
	}
	lock := flock.New(g.path+".lock", flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return "", err
	}
	defer lock.Close()
	file, err := readGrants(g.path)
	if err != nil && !errors.Is(err, errDamaged) {
		return "", err
	}
	if err != nil {
		if warning, err = setAside(g.path, err); err != nil {
			return "", err
		}
		file = grantsFile{Folders: map[string][]string{}}
	}
	edit(&file)
	return warning, writeGrants(g.path, file)
}

// setAside moves a file that cannot be read as grants out of the way, keeping it.
func setAside(path string, cause error) (warning string, err error) {
	kept := path + ".damaged-" + time.Now().UTC().Format("20060102T150405.000000000")
	if err := os.Rename(path, kept); err != nil {
		return "", err
	}
	return fmt.Sprintf("the grants in %s could not be used: %v; the file is kept as %s and a new one was begun", path, cause, kept), nil
}

// readGrants reads the file; one that is not there holds no grants.
func readGrants(path string) (grantsFile, error) {
	file := grantsFile{Version: grantsVersion}
	text, err := readRegular(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return grantsFile{}, err
	}
	if err == nil {
		if err := json.Unmarshal(text, &file); err != nil {
			return grantsFile{}, fmt.Errorf("%w: %w", errDamaged, err)
		}
	}
	if file.Version > grantsVersion {
		return grantsFile{}, errors.New("a newer nimlet wrote the file")
	}
	if file.Folders == nil {
		file.Folders = map[string][]string{}
	}
	return file, nil
}

// maxGrants bounds the grants file, in bytes; it has no reason to come near it.
const maxGrants = 16 << 20

// readRegular returns what a regular file holds. The open never waits, as it would for a FIFO that
// stands in the file's place: each question of the user's depends on this file.
func readRegular(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	case info.Size() > maxGrants:
		return nil, fmt.Errorf("it is larger than %d bytes", maxGrants)
	}
	return io.ReadAll(io.LimitReader(f, maxGrants))
}

// writeGrants replaces the file in one step, readable by the user alone.
func writeGrants(path string, file grantsFile) (err error) {
	file.Version = grantsVersion
	text, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp.Name()))
		}
	}()
	_, err = temp.Write(append(text, '\n'))
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}
