package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sessionIDs returns the ids of the session files in dir.
func sessionIDs(dir string) (ids []string, err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	for _, name := range names {
		id, ok := strings.CutSuffix(name, ".jsonl")
		if ok && name != indexName && validID(id) {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// readIndex returns the last line of each id; sound is false when the index lacks its header,
// has damaged lines or is overgrown, and should be replaced.
func readIndex(dir string) (known map[string]Info, sound bool) {
	known = map[string]Info{}
	data, err := os.ReadFile(indexPath(dir))
	if err != nil {
		return known, false
	}
	h, headed := readIndexHeader(bytes.NewReader(data))
	sound = headed && !overgrown(int64(len(data)), h)
	first := true
	for line := range bytes.Lines(data) {
		if first && headed || len(bytes.TrimSpace(line)) == 0 {
			first = false
			continue
		}
		first = false
		if i, ok := parseIndexLine(line); ok {
			known[i.ID] = i
		} else {
			sound = false
		}
	}
	return known, sound
}

// infoOf reads a session's Info from its file; ok is false when it has no message of the user or
// cannot be read.
func infoOf(dir, id string) (i Info, ok bool) {
	modified, ok := exists(dir, id)
	if !ok {
		return Info{}, false
	}
	s, err := Load(dir, id)
	if err != nil {
		return Info{}, false
	}
	defer s.Close()
	h := s.Header()
	i = Info{ID: id, Workspace: h.Workspace, Directories: h.Directories, Title: s.Title(), Updated: modified}
	return i, s.last(kindUser) >= 0
}

// replaceIndex writes the index anew with the sessions in all. What was appended since they were
// read is read again under the lock, and kept.
func replaceIndex(dir string, all []Info) error {
	l, err := lockIndex(dir, true)
	if err != nil {
		return err
	}
	defer l.Close()
	lines, _ := readIndex(dir)
	for id := range lines {
		if _, ok := exists(dir, id); !ok {
			delete(lines, id)
		}
	}
	for _, i := range all {
		if _, ok := lines[i.ID]; !ok {
			lines[i.ID] = i
		}
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	for _, i := range slices.SortedFunc(maps.Values(lines), older) {
		if err := enc.Encode(i); err != nil {
			return err
		}
	}
	return writeIndex(dir, text.Bytes())
}

// writeIndex puts a new index in the place of the old one, as new as its folder.
func writeIndex(dir string, lines []byte) error {
	header, err := json.Marshal(indexHeader{Index: 1, Generation: strconv.FormatInt(time.Now().UnixNano(), 36), Size: int64(len(lines))})
	if err != nil {
		return err
	}
	temp := filepath.Join(dir, "index.new")
	err = os.WriteFile(temp, append(append(header, '\n'), lines...), 0o600)
	if err == nil {
		err = os.Rename(temp, indexPath(dir))
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	folder, err := os.Stat(dir)
	if err != nil {
		return err
	}
	return os.Chtimes(indexPath(dir), time.Time{}, folder.ModTime())
}
