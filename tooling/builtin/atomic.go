package builtin

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// replace makes data the content of p, all at once: whoever looks sees the old file or the new
// one, and after a failure the old one is as it was. before is the file that was read, nil when
// there was none; one that has changed since is left alone. Its mode is kept.
func (p Place) replace(data []byte, before fs.FileInfo) error {
	dir, err := p.in.root.OpenRoot(filepath.Dir(p.rel))
	if err != nil {
		return p.explain("opening the folder of", err)
	}
	defer dir.Close()
	if before != nil {
		if err := p.writable(); err != nil {
			return err
		}
	}
	temp := ".nimlet-" + rand.Text()
	if err := fill(dir, temp, data, before); err != nil {
		return errors.Join(p.explain("writing beside", err), removeIfThere(dir, temp))
	}
	if err := p.unchanged(dir, before); err != nil {
		return errors.Join(err, dir.Remove(temp))
	}
	if err := dir.Rename(temp, filepath.Base(p.rel)); err != nil {
		return errors.Join(p.explain("replacing", err), dir.Remove(temp))
	}
	return nil
}

// writable reports a file that is read-only. Renaming over it would work and is not what its
// owner meant.
func (p Place) writable() error {
	f, err := p.in.root.OpenFile(p.rel, os.O_WRONLY|nonBlocking, 0)
	if err != nil {
		return p.explain("opening for writing", err)
	}
	return f.Close()
}

// fill writes data to the new file name and gives it the mode and owner of before. It is on the
// disk when fill returns: a rename must not reach it before the content does.
func fill(dir *os.Root, name string, data []byte, before fs.FileInfo) error {
	mode := fs.FileMode(0o666)
	if before != nil {
		mode = 0o600
	}
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && before != nil {
		keepOwner(f, before)
		err = f.Chmod(before.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky))
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func removeIfThere(dir *os.Root, name string) error {
	if err := dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// unchanged reports that what stands at p is no longer what was read.
func (p Place) unchanged(dir *os.Root, before fs.FileInfo) error {
	now, err := dir.Lstat(filepath.Base(p.rel))
	switch {
	case before == nil && errors.Is(err, fs.ErrNotExist):
		return nil
	case before == nil && err == nil:
		return fmt.Errorf("%s was made by someone else meanwhile; it is left as it is, read it first", p.Short)
	case err != nil:
		return p.explain("looking again at", err)
	case !os.SameFile(before, now) || before.Size() != now.Size() || !before.ModTime().Equal(now.ModTime()):
		return fmt.Errorf("%s was changed by someone else meanwhile; it is left as it is, read it again", p.Short)
	}
	return nil
}
