package builtin

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// stat tells what stands at p; links in the last name are not followed, since Resolve has done so.
func (p Place) stat() (fs.FileInfo, error) { return p.in.root.Lstat(p.rel) }

// open opens the regular file p for reading. Anything else is refused without waiting for it: a
// FIFO would block, a device might act on being opened.
func (p Place) open() (*os.File, fs.FileInfo, error) {
	info, err := p.in.root.Stat(p.rel)
	if err == nil && !info.Mode().IsRegular() {
		return nil, nil, p.irregular(info)
	}
	if err != nil {
		return nil, nil, p.explain("opening", err)
	}
	f, err := p.in.root.OpenFile(p.rel, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, nil, p.explain("opening", err)
	}
	// Asked again of what is open now: the name may have changed hands in between.
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = p.irregular(info)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// read returns the bytes of the regular file p, which may be at most limit long.
func (p Place) read(limit int64) ([]byte, fs.FileInfo, error) {
	f, info, err := p.open()
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	data := make([]byte, 0, min(info.Size(), limit)+1)
	data, err = readUpTo(f, data, limit+1)
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", p.Short, err)
	}
	if int64(len(data)) > limit {
		return nil, nil, fmt.Errorf("%s has %d bytes, more than the %d that can be worked on at once; use bash", p.Short, info.Size(), limit)
	}
	return data, info, nil
}

// readUpTo appends to data what r holds, until data is limit bytes long.
func readUpTo(r io.Reader, data []byte, limit int64) ([]byte, error) {
	for int64(len(data)) < limit {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := r.Read(data[len(data):min(int64(cap(data)), limit)])
		data = data[:len(data)+n]
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return data, err
		}
	}
	return data, nil
}

// irregular refuses what is no file, by name of what it is.
func (p Place) irregular(info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsDir():
		return fmt.Errorf("%s is a folder; list it with glob, path %q, pattern \"*\"", p.Short, p.Short)
	case mode&fs.ModeNamedPipe != 0:
		return fmt.Errorf("%s is a named pipe, not a file", p.Short)
	case mode&fs.ModeSocket != 0:
		return fmt.Errorf("%s is a socket, not a file", p.Short)
	case mode&fs.ModeDevice != 0:
		return fmt.Errorf("%s is a device, not a file", p.Short)
	}
	return fmt.Errorf("%s is not a regular file", p.Short)
}

// explain puts an error of the system in terms of p and says what to do about it.
func (p Place) explain(doing string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return missing(fmt.Sprintf("%s does not exist; look for it with glob, pattern %q", p.Short, "**/"+filepath.Base(p.Path)))
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("%s %s: %w", doing, p.Short, err)
}

// A missing is the error, in our words, that a file does not exist.
type missing string

func (m missing) Error() string { return string(m) }

// Is makes it what the system's own error is.
func (m missing) Is(target error) bool { return target == fs.ErrNotExist }
