package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// index.jsonl names the sessions of a folder, so that the newest of 10,000 are found without
// opening one. Its rules are:
//
//   - line 1 is its header; without one, as when an append had to make the file, it is incomplete;
//   - every other line is an Info; the last one of an id counts, and later lines are newer;
//   - a line is written before each message of the user is (a crash leaves a line too many rather
//     than a session that is not listed), before each new name, and when a turn has ended;
//   - the folder's time tells of files that came some other way: it changes with each file made,
//     removed or renamed. Our own such changes set the index's time to the folder's after
//     themselves (settled), so an older index means that the folder must be read (reconcile);
//   - it is appended to under a shared lock of index.lock and replaced under an exclusive one.
//     Nobody waits for either: a line that could not be written is written later.
const indexName = "index.jsonl"

// indexHeader is the first line of the index. A cursor is a place in one generation of it.
type indexHeader struct {
	Index      int    `json:"index"` // version, 1
	Generation string `json:"generation"`
	Size       int64  `json:"size"` // bytes of the file when it was last written anew
}

// indexState is what a store knows of its line in the index.
type indexState struct {
	behind   bool // there was activity since the last line
	entered  bool // a line was written
	unsynced bool // the first line was, and is not known to be on disk; later ones tell little more
}

var errIndexBusy = errors.New("the index of sessions is being replaced")

// announceLocked writes the session's line before events are, when they change what it says.
func (s *Store) announceLocked(events []Event) {
	title, enter := s.titleLocked(), false
	for _, e := range events {
		switch e := e.(type) {
		case User:
			if enter = true; title == "" {
				title = firstWords(e)
			}
		case Name:
			if enter = enter || s.lastLocked(kindUser) >= 0; oneTitle(e.Name) != "" {
				title = oneTitle(e.Name)
			}
		}
	}
	if s.index.behind = true; enter {
		s.enterLocked(title)
	}
}

// refreshLocked writes the session's line when there was activity since the last.
func (s *Store) refreshLocked() {
	if s.index.behind && s.lastLocked(kindUser) >= 0 {
		s.enterLocked(s.titleLocked())
	}
}

// enterLocked may fail: the line is then tried again at the next occasion.
func (s *Store) enterLocked(title string) {
	h := s.header
	line := Info{ID: h.ID, Workspace: h.Workspace, Directories: h.Directories, Title: title, Updated: time.Now().UTC()}
	if appendIndex(s.dir, line) == nil {
		s.index.behind, s.index.unsynced = false, s.index.unsynced || !s.index.entered
		s.index.entered = true
	}
}

func indexPath(dir string) string { return filepath.Join(dir, indexName) }

// lockIndex takes index.lock, shared or alone, without waiting.
func lockIndex(dir string, alone bool) (*flock.Flock, error) {
	l := flock.New(filepath.Join(dir, "index.lock"), flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	try := l.TryRLock
	if alone {
		try = l.TryLock
	}
	held, err := try()
	if err == nil && !held {
		err = errIndexBusy
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// appendIndex adds one line with one write. A torn line before it, which a full disk leaves, is
// ended first so that it spoils itself alone.
func appendIndex(dir string, line Info) error {
	data, err := json.Marshal(line)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return settled(dir, func() error {
		l, err := lockIndex(dir, false)
		if err != nil {
			return err
		}
		defer l.Close()
		f, err := os.OpenFile(indexPath(dir), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		if !endsLine(f) {
			data = append([]byte("\n"), data...)
		}
		_, err = f.Write(append(data, '\n'))
		return errors.Join(err, f.Close())
	})
}

// endsLine says whether f is empty or ends with a newline.
func endsLine(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return true
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], info.Size()-1)
	return err != nil || last[0] == '\n'
}

// settled runs change, which may make, remove or rename files in dir and write to the index, and
// keeps what the two times say: an index that was as new as the folder stays so, an older one
// stays older.
func settled(dir string, change func() error) error {
	if dir == "" { // of a session in memory
		return change()
	}
	before, fresh := indexTime(dir)
	err := change()
	switch info, statErr := os.Stat(dir); {
	case before.IsZero() || statErr != nil:
	case fresh:
		if now, still := indexTime(dir); !still && !now.IsZero() {
			_ = os.Chtimes(indexPath(dir), time.Time{}, info.ModTime()) // or else the folder is read once more
		}
	default:
		_ = os.Chtimes(indexPath(dir), time.Time{}, before)
	}
	return err
}

// indexTime returns the time of the index, zero when there is none, and whether it is as new as
// its folder.
func indexTime(dir string) (t time.Time, fresh bool) {
	index, err := os.Stat(indexPath(dir))
	if err != nil {
		return time.Time{}, false
	}
	folder, err := os.Stat(dir)
	return index.ModTime(), err == nil && !folder.ModTime().After(index.ModTime())
}

// syncIndex brings the index to the disk. A failure costs no session: reconcile finds it.
func syncIndex(dir string) {
	f, err := os.OpenFile(indexPath(dir), os.O_RDWR, 0)
	if err != nil {
		return
	}
	_ = f.Sync()
	_ = f.Close()
	syncFolder(dir)
}

// readIndexHeader returns the first line of the index in r; ok is false when it has none.
func readIndexHeader(r io.ReaderAt) (h indexHeader, ok bool) {
	head := make([]byte, 512)
	n, err := r.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return h, false
	}
	line, _, whole := bytes.Cut(head[:n], []byte("\n"))
	return h, whole && json.Unmarshal(line, &h) == nil && h.Index == 1
}

const indexBlock = 32 << 10

// backward yields the lines of r from the last to the first, with where they begin; line 1, the
// header, is left out. It stops where r cannot be read.
func backward(r io.ReaderAt, size int64) iter.Seq2[int64, []byte] {
	return func(yield func(int64, []byte) bool) {
		var rest []byte // the end of a line whose beginning stands in an earlier block
		for end := size; end > 0; {
			start := max(0, end-indexBlock)
			data, err := readLine(r, start, end-start)
			if err != nil {
				return
			}
			data, end = append(data, rest...), start
			for {
				at := bytes.LastIndexByte(bytes.TrimSuffix(data, []byte("\n")), '\n')
				if at < 0 {
					break
				}
				if line := bytes.TrimSpace(data[at+1:]); len(line) > 0 && !yield(start+int64(at)+1, line) {
					return
				}
				data = data[:at+1]
			}
			rest = data
		}
	}
}

// parseIndexLine returns the Info a line of the index holds; ok is false when it is damaged.
func parseIndexLine(line []byte) (i Info, ok bool) {
	return i, decode(line, &i) && validID(i.ID)
}

// exists returns when session id was last written to; ok is false when its file is gone.
func exists(dir, id string) (modified time.Time, ok bool) {
	info, err := os.Stat(filepath.Join(dir, id+".jsonl"))
	if err != nil || !info.Mode().IsRegular() {
		return time.Time{}, errors.Is(err, fs.ErrPermission)
	}
	return info.ModTime().UTC(), true
}
