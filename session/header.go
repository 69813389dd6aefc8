package session

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"
)

// formatVersion is the version of the file format that is written.
const formatVersion = 1

// A Header is the first line of a session file. Files of older writers have only type and
// workspace; the id is then the file's name and Created is zero.
type Header struct {
	ID          string
	Workspace   string    // absolute folder the session was begun in
	Directories []string  // additional folders, absolute
	Created     time.Time // zero when not known
	Parent      string    // id of the session this one was forked from; "" for none
	Version     int       // of the file format; 0 for files without
}

// headerLine is the JSON of a Header, as it is written.
type headerLine struct {
	Type        string   `json:"type"`
	Version     int      `json:"version"`
	ID          string   `json:"id"`
	Workspace   string   `json:"workspace"`
	Directories []string `json:"directories,omitempty"`
	Created     string   `json:"created,omitempty"`
	Parent      string   `json:"parent,omitempty"`
}

func encodeHeader(h Header) ([]byte, error) {
	w := headerLine{Type: "session", Version: formatVersion, ID: h.ID, Workspace: h.Workspace, Directories: h.Directories, Parent: h.Parent}
	if !h.Created.IsZero() {
		w.Created = h.Created.UTC().Format(time.RFC3339Nano)
	}
	line, err := json.Marshal(w)
	if err != nil {
		return nil, fmt.Errorf("encoding the header of session %s: %w", h.ID, err)
	}
	return line, nil
}

// decodeHeader reads the first line of a file, field by field: one of another type than expected
// stays zero and does not hide the rest. ok is false when line is no header.
func decodeHeader(line []byte) (h Header, ok bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(line, &fields) != nil {
		return Header{}, false
	}
	var kind, created string
	take := func(name string, into any) { _ = json.Unmarshal(fields[name], into) } // a wrong type leaves zero
	take("type", &kind)
	take("id", &h.ID)
	take("workspace", &h.Workspace)
	take("directories", &h.Directories)
	take("created", &created)
	take("parent", &h.Parent)
	take("version", &h.Version)
	h.Created, _ = time.Parse(time.RFC3339Nano, created)
	return h, kind == "session"
}

// lastID is the one thing NewID must remember to be unique in a process whose clock is coarse.
var lastID atomic.Int64

// NewID returns an id for a session begun at now: the microseconds since 1970 as digits. Two
// calls in one process never return the same.
func NewID(now time.Time) string {
	for {
		last := lastID.Load()
		id := max(now.UnixMicro(), last+1)
		if lastID.CompareAndSwap(last, id) {
			return strconv.FormatInt(id, 10)
		}
	}
}

// validID says whether id can be a session's: it becomes part of a file name, and comes from the
// editor or the command line.
func validID(id string) bool {
	if id == "" || len(id) > 128 {
		return false
	}
	for _, c := range []byte(id) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}
