package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const trashName = ".trash"

// Trash moves session id of dir, with all that stands beside it, to dir/.trash. It returns
// ErrNotFound when there is no such session and a *LockedError while it is open.
func Trash(dir, id string) error {
	if err := move(dir, dir, filepath.Join(dir, trashName), id); err != nil {
		return fmt.Errorf("deleting session %s: %w", id, err)
	}
	return nil
}

// Restore brings session id back from dir/.trash; ErrNotFound when it is not there.
func Restore(dir, id string) error {
	if err := move(dir, filepath.Join(dir, trashName), dir, id); err != nil {
		return fmt.Errorf("restoring session %s: %w", id, err)
	}
	if i, ok := infoOf(dir, id); ok {
		_ = appendIndex(dir, i) // if it cannot be written, the folder's time tells
	}
	return nil
}

// Trashed returns the sessions in dir/.trash, those with the newest activity first.
func Trashed(dir string) ([]Info, error) {
	trash := filepath.Join(dir, trashName)
	ids, err := sessionIDs(trash)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing deleted sessions: %w", err)
	}
	var list []Info
	for _, id := range ids {
		if i, ok := infoOf(trash, id); ok {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(a, b Info) int { return older(b, a) })
	return list, nil
}

// move moves the files of session id while it holds the session's lock, which is dir's. The
// session's own file goes last, so that a move that was cut short can be done again.
func move(dir, from, to, id string) error {
	if !validID(id) {
		return ErrNotFound
	}
	if _, ok := exists(from, id); !ok {
		return ErrNotFound
	}
	if _, err := os.Lstat(filepath.Join(to, id+".jsonl")); err == nil {
		return fmt.Errorf("%s has one of that id already", to)
	}
	return settled(dir, func() error {
		l, err := acquire(dir, id)
		if err != nil {
			return err
		}
		return errors.Join(moveAll(from, to, id), l.release())
	})
}

func moveAll(from, to, id string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	names, err := filesOf(from, id)
	if err != nil {
		return err
	}
	for _, name := range append(names, id+".jsonl") {
		if err := os.Rename(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return nil
}

// filesOf returns the names of what stands beside a session's file and belongs to it.
func filesOf(dir, id string) (names []string, err error) {
	all, err := os.ReadDir(dir)
	for _, e := range all {
		name := e.Name()
		if name == id+".partial" || name == id+".output" || strings.HasPrefix(name, id+".jsonl.recovery-") {
			names = append(names, name)
		}
	}
	return names, err
}
