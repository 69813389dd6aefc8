package session

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func user(text string) User { return User{Content: []Part{Text{Text: text}}} }

func answer(text string) Assistant { return Assistant{Content: []Part{Text{Text: text}}, Model: "m"} }

func create(t *testing.T, dir string, events ...Event) *Store {
	t.Helper()
	s, err := Create(dir, Header{Workspace: "/ws"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	must(t, s.Append(events...))
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func reopen(t *testing.T, s *Store) *Store {
	t.Helper()
	must(t, s.Close())
	return open(t, s.dir, s.ID())
}

func open(t *testing.T, dir, id string) *Store {
	t.Helper()
	s, err := Open(dir, id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func events(s *Store) (list []Event) {
	for _, e := range s.All() {
		list = append(list, e)
	}
	return list
}

func TestStoreKeepsItsEvents(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions")
	want := []Event{user("hello"), answer("hi"), Name{Name: "greeting"}}
	s := create(t, dir, want...)
	must(t, s.Flush(t.Context()))
	s = reopen(t, s)
	if diff := cmp.Diff(want, events(s)); diff != "" {
		t.Errorf("events after reopening (-want +got):\n%s", diff)
	}
	if got := s.Title(); got != "greeting" {
		t.Errorf("title %q, want greeting", got)
	}
	if len(s.Warnings()) > 0 {
		t.Errorf("a sound session warns: %q", s.Warnings())
	}
}

func TestNothingIsLeftOfASessionThatWasNotUsed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions")
	s := create(t, dir)
	must(t, s.Close())
	if _, err := os.Stat(dir); err == nil {
		t.Error("a session without events made its folder")
	}
}

func TestListFindsWhatWasWritten(t *testing.T) {
	dir := t.TempDir()
	s := create(t, dir, user("first words"))
	must(t, s.Flush(t.Context()))
	p, err := List(dir, Query{})
	must(t, err)
	if len(p.Sessions) != 1 || p.Sessions[0].Title != "first words" {
		t.Errorf("got %+v", p)
	}
}

func TestAStoreIsUsedFromManySides(t *testing.T) {
	for name, s := range map[string]*Store{"file": create(t, t.TempDir(), user("go")), "memory": InMemory(Header{})} {
		const each = 50
		var all sync.WaitGroup
		check := func(err error) {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		all.Go(func() {
			for i := range each {
				check(s.Append(calls(strconv.Itoa(i)), ToolResult{ID: strconv.Itoa(i)}))
			}
		})
		all.Go(func() {
			for range each {
				check(s.Partial(Partial{PartialOutput, "x", "text"}))
				check(s.Append(Name{"n"}, Mark{Mode: "plan"}.Event()))
				s.Sync()
			}
		})
		all.Go(func() {
			for range each / 10 {
				check(s.Flush(t.Context()))
			}
		})
		all.Go(func() {
			for range each {
				checkPairs(t, name, s.Messages())
				if n := len(events(s)); n > s.Len() {
					t.Errorf("%s: %d events of %d", name, n, s.Len())
				}
				s.Title()
				s.Mode()
			}
		})
		all.Wait()
		if got, want := s.Len(), 4*each; got < want || got > want+1 {
			t.Errorf("%s: %d events, want %d", name, got, want)
		}
	}
}

func TestEventsOutsideAreRefused(t *testing.T) {
	s := create(t, t.TempDir(), user("a"))
	for _, i := range []int{-1, 1} {
		if e, err := s.Event(i); err == nil {
			t.Errorf("event %d is %v", i, e)
		}
	}
}

func TestASessionIsCreatedOnce(t *testing.T) {
	dir := t.TempDir()
	s := create(t, dir, user("a"))
	if _, err := Create(dir, Header{ID: s.ID()}); err == nil {
		t.Error("a second session of the same id was created")
	}
	for _, id := range []string{"../x", "a.b"} {
		if _, err := Create(dir, Header{ID: id}); err == nil {
			t.Errorf("%q was taken for an id", id)
		}
	}
	now := time.Now()
	seen := map[string]bool{}
	for range 100 {
		seen[NewID(now)] = true
	}
	if len(seen) != 100 {
		t.Errorf("100 calls gave %d ids", len(seen))
	}
}

func TestFilesAreTheUsersAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // access there follows from the folder's list, not from modes
	}
	dir := filepath.Join(t.TempDir(), "sessions")
	s := create(t, dir, user("a"))
	must(t, s.Partial(Partial{PartialText, "m", "x"}))
	listed(t, dir, Query{})
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		must(t, err)
		info, err := d.Info()
		must(t, err)
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	}))
}
