package session

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// ErrCursor is returned for a cursor that List did not give.
var ErrCursor = errors.New("the cursor is not one of this list")

// An Info is what the list of sessions tells of one.
type Info struct {
	ID          string    `json:"id"`
	Workspace   string    `json:"workspace"`
	Directories []string  `json:"directories,omitempty"`
	Title       string    `json:"title"`
	Updated     time.Time `json:"updated"` // of the last activity, UTC
}

// A Query says which sessions to list.
type Query struct {
	Workspace string // "" for all
	Cursor    string // Page.Next of the page before; "" for the first
	Limit     int    // sessions a page; 0 for 50
}

// A Page is one part of the list. Next is "" on the last one.
type Page struct {
	Sessions []Info
	Next     string
}

const defaultLimit = 50

// List returns the sessions of dir that have a message of the user, those with the newest
// activity first. A dir that does not exist has none. What it costs depends on what it returns,
// not on how many sessions there are.
func List(dir string, q Query) (Page, error) {
	after, err := parseCursor(q.Cursor)
	if err != nil {
		return Page{}, err
	}
	p, ok := listIndex(dir, q, after)
	if ok {
		return p, nil
	}
	all, err := reconcile(dir)
	if err != nil {
		return Page{}, fmt.Errorf("listing sessions: %w", err)
	}
	lines := func(yield func(int64, Info) bool) {
		for i := len(all) - 1; i >= 0 && yield(int64(i), all[i]); i-- {
		}
	}
	return page(dir, q, after, "", lines), nil
}

// listIndex lists from the end of the index; ok is false when that cannot be relied on.
func listIndex(dir string, q Query, after cursor) (p Page, ok bool) {
	if _, fresh := indexTime(dir); !fresh {
		return Page{}, false
	}
	f, err := os.Open(indexPath(dir))
	if err != nil {
		return Page{}, false
	}
	defer f.Close()
	info, err := f.Stat()
	h, headed := readIndexHeader(f)
	if err != nil || !headed || overgrown(info.Size(), h) {
		return Page{}, false
	}
	ok = true
	lines := func(yield func(int64, Info) bool) {
		for at, line := range backward(f, info.Size()) {
			i, sound := parseIndexLine(line)
			if ok = ok && sound; !sound || !yield(at, i) {
				return
			}
		}
	}
	p = page(dir, q, after, h.Generation, lines)
	return p, ok
}

// overgrown says that most of an index are lines that later ones replaced.
func overgrown(size int64, h indexHeader) bool { return size > 4*h.Size+(256<<10) }

// page takes from lines, newest first, what q asks for and comes after the cursor.
func page(dir string, q Query, after cursor, generation string, lines iter.Seq2[int64, Info]) (p Page) {
	limit := cmp.Or(max(q.Limit, 0), defaultLimit)
	seen := map[string]bool{}
	var last cursor
	for at, i := range lines {
		if seen[i.ID] {
			continue
		}
		seen[i.ID] = true
		if !after.before(generation, at, i) || q.Workspace != "" && filepath.Clean(q.Workspace) != filepath.Clean(i.Workspace) {
			continue
		}
		modified, ok := exists(dir, i.ID)
		if !ok {
			continue
		}
		if len(p.Sessions) == limit {
			p.Next = last.String()
			break
		}
		last = cursor{generation, at, i.Updated, i.ID}
		if modified.After(i.Updated) {
			i.Updated = modified
		}
		p.Sessions = append(p.Sessions, i)
	}
	slices.SortStableFunc(p.Sessions, func(a, b Info) int { return b.Updated.Compare(a.Updated) })
	return p
}

// A cursor is the last line of a page: by its place in one generation of the index, and, for any
// other, by its time and id.
type cursor struct {
	Generation string    `json:"g"`
	At         int64     `json:"a"`
	Updated    time.Time `json:"u"`
	ID         string    `json:"i"`
}

func (c cursor) String() string {
	data, err := json.Marshal(c)
	if err != nil { // a time beyond year 9999
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

func parseCursor(text string) (c cursor, err error) {
	if text == "" {
		return cursor{}, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err != nil || c.ID == "" {
		return cursor{}, ErrCursor
	}
	return c, nil
}

// before says whether line i, at a place in a generation of the index, comes after c in the list.
func (c cursor) before(generation string, at int64, i Info) bool {
	switch {
	case c.ID == "":
		return true
	case generation != "" && generation == c.Generation:
		return at < c.At
	}
	return older(i, Info{ID: c.ID, Updated: c.Updated}) < 0
}

// older orders sessions by their activity, the oldest first.
func older(a, b Info) int {
	return cmp.Or(a.Updated.Compare(b.Updated), cmp.Compare(a.ID, b.ID))
}

// reconcile returns all sessions of dir, oldest activity first, from the index and, for those it
// lacks, from their files, and makes the index good again. That may fail, as in a folder that
// cannot be written: the list is right all the same.
func reconcile(dir string) ([]Info, error) {
	folder, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ids, err := sessionIDs(dir)
	if err != nil {
		return nil, err
	}
	known, sound := readIndex(dir)
	all := make([]Info, 0, len(ids))
	for _, id := range ids {
		i, ok := known[id]
		if !ok {
			if i, ok = infoOf(dir, id); !ok {
				continue
			}
			sound = false
		}
		all = append(all, i)
	}
	slices.SortFunc(all, older)
	if sound {
		_ = os.Chtimes(indexPath(dir), time.Time{}, folder.ModTime())
	} else {
		_ = replaceIndex(dir, all)
	}
	return all, nil
}
