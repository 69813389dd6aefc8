package session

import (
	"os"
	"path/filepath"
	"testing"

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
