package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxFile bounds each file that is read, in bytes. None of them has a reason to come near it.
const maxFile = 1 << 20

// readFile returns what a regular file of at most maxFile bytes holds. The open never waits, as it
// would for a FIFO that somebody put in the file's place.
func readFile(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		return nil, fmt.Errorf("it is larger than %d bytes", maxFile)
	}
	return data, err
}

// readOptional is readFile for a file that need not be there: ok is false when it is not, or when
// it cannot be read, which is a Problem.
func readOptional(name string) (data []byte, problems []Problem, ok bool) {
	data, err := readFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, false
	case err != nil:
		return nil, []Problem{unread(name, err)}, false
	}
	return data, nil, true
}

func unread(name string, err error) Problem {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err // the name stands in front already
	}
	return Problem{File: name, Text: fmt.Sprintf("cannot be read, so it is left out: %v", err)}
}

// replaceFile puts data in the place of name, whole or not at all, readable by the user alone. A
// link stays a link: what it leads to is replaced.
func replaceFile(name string, data []byte) (err error) {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*.tmp") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
