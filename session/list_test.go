package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// listed walks all pages and returns the titles.
func listed(t *testing.T, dir string, q Query) (titles []string) {
	t.Helper()
	for range 1000 {
		p, err := List(dir, q)
		must(t, err)
		for _, i := range p.Sessions {
			titles = append(titles, i.Title)
		}
		if q.Cursor = p.Next; p.Next == "" {
			return titles
		}
	}
	t.Fatal("the pages never end")
	return nil
}

func checkListed(t *testing.T, dir string, q Query, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, listed(t, dir, q)); diff != "" {
		t.Errorf("%+v lists (-want +got):\n%s", q, diff)
	}
}

// checkFresh says whether the next List works from the index alone.
func checkFresh(t *testing.T, dir string) {
	t.Helper()
	if _, ok := listIndex(dir, Query{}, cursor{}); !ok {
		t.Error("the index cannot be relied on")
	}
}

func session(t *testing.T, dir, workspace, title string) *Store {
	t.Helper()
	s, err := Create(dir, Header{Workspace: workspace})
	must(t, err)
	must(t, s.Append(user(title)))
	must(t, s.Close())
	return s
}

func TestListShowsNewestActivityFirst(t *testing.T) {
	dir := t.TempDir()
	checkListed(t, filepath.Join(dir, "none"), Query{})
	checkListed(t, dir, Query{})
	a := session(t, dir, "/a", "one")
	session(t, dir, "/b", "two")
	checkListed(t, dir, Query{}, "two", "one")
	session(t, dir, "/a/", "three")
	create(t, dir, Selection{"p", "m"}) // no message of the user
	checkListed(t, dir, Query{}, "three", "two", "one")
	s := open(t, dir, a.ID())
	must(t, s.Append(user("more")))
	checkListed(t, dir, Query{}, "one", "three", "two")
	must(t, s.Append(Name{"first"}))
	must(t, s.Close())
	checkListed(t, dir, Query{}, "first", "three", "two")
	checkListed(t, dir, Query{Workspace: "/a"}, "first", "three")
	checkListed(t, dir, Query{Workspace: "/c"})
	p, err := List(dir, Query{Limit: 1})
	must(t, err)
	if i := p.Sessions[0]; i.ID != a.ID() || i.Workspace != "/a" || time.Since(i.Updated) > time.Hour {
		t.Errorf("listed as %+v", i)
	}
}

func TestListStaysOnTheIndexThroughUsualUse(t *testing.T) {
	dir := t.TempDir()
	session(t, dir, "/a", "one")
	checkListed(t, dir, Query{}, "one")
	checkFresh(t, dir)
	s := create(t, dir, user("two"))
	checkFresh(t, dir)
	must(t, s.Partial(Partial{PartialText, "m", "x"}))
	checkFresh(t, dir)
	must(t, s.Append(answer("x")))
	must(t, s.Flush(t.Context()))
	checkFresh(t, dir)
	must(t, s.Close())
	checkFresh(t, dir)
	must(t, Trash(dir, s.ID()))
	checkFresh(t, dir)
	checkListed(t, dir, Query{}, "one")
	must(t, Restore(dir, s.ID()))
	checkFresh(t, dir)
	checkListed(t, dir, Query{}, "two", "one")
}

func TestPagesHoldEachSessionOnce(t *testing.T) {
	dir := t.TempDir()
	var want []string
	var stores []*Store
	for i := range 25 {
		title := fmt.Sprintf("s%02d", i)
		stores = append(stores, session(t, dir, "/ws", title))
		want = append([]string{title}, want...)
	}
	checkListed(t, dir, Query{Limit: 4}, want...)
	checkListed(t, dir, Query{Limit: 25}, want...)
	checkListed(t, dir, Query{Limit: 24}, want...)
	p, err := List(dir, Query{Limit: 4})
	must(t, err)
	s := open(t, dir, stores[3].ID()) // moves to the front while someone is between pages
	must(t, s.Append(user("again")))
	must(t, s.Close())
	rest := append(append([]string(nil), want[4:21]...), want[22:]...)
	checkListed(t, dir, Query{Limit: 4, Cursor: p.Next}, rest...)
	must(t, os.Remove(indexPath(dir))) // and now every place in the index is another
	checkListed(t, dir, Query{Limit: 4, Cursor: p.Next}, rest...)
	checkListed(t, dir, Query{Limit: 4, Cursor: p.Next}, rest...)
}

func TestPagesHoldEachSessionOnceThoughTheClockWentBack(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for i := range 6 {
		title := fmt.Sprintf("s%d", i)
		session(t, dir, "/ws", title)
		want = append([]string{title}, want...)
	}
	listed(t, dir, Query{})
	p, err := List(dir, Query{})
	must(t, err)
	for n, i := range p.Sessions { // all were active again, each before the one before
		i.Updated = i.Updated.Add(-time.Duration(n) * time.Hour)
		must(t, appendIndex(dir, i))
	}
	got := listed(t, dir, Query{Limit: 2})
	if len(got) != 6 {
		t.Errorf("listed %q", got)
	}
	for _, title := range want {
		if !slices.Contains(got, title) {
			t.Errorf("%s is not on any page", title)
		}
	}
}

func TestForeignCursorsAreRefused(t *testing.T) {
	for _, c := range []string{"x", "%", "e30", "bnVsbA", "eyJpIjo3fQ"} {
		if _, err := List(t.TempDir(), Query{Cursor: c}); !errors.Is(err, ErrCursor) {
			t.Errorf("%q: %v", c, err)
		}
	}
}

func TestSessionsAreFoundWhateverBecameOfTheIndex(t *testing.T) {
	for name, harm := range map[string]func(path string, index []byte) error{
		"gone":  func(path string, _ []byte) error { return os.Remove(path) },
		"empty": func(path string, _ []byte) error { return os.WriteFile(path, nil, 0o600) },
		"torn":  func(path string, index []byte) error { return os.WriteFile(path, index[:len(index)-5], 0o600) },
		"NULs":  func(path string, index []byte) error { return os.WriteFile(path, make([]byte, len(index)), 0o600) },
		"no header": func(path string, index []byte) error {
			return os.WriteFile(path, index[strings.Index(string(index), "\n")+1:], 0o600)
		},
		"garbage":    func(path string, index []byte) error { return os.WriteFile(path, append(index, "x\n{}\n"...), 0o600) },
		"not a file": func(path string, _ []byte) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
		"other lines": func(path string, index []byte) error {
			return os.WriteFile(path, []byte("{\"index\":1}\n"+`{"id":"99","title":"ghost"}`+"\n"), 0o600)
		},
	} {
		dir := t.TempDir()
		session(t, dir, "/a", "one")
		session(t, dir, "/a", "two")
		listed(t, dir, Query{})
		index, err := os.ReadFile(indexPath(dir))
		must(t, err)
		must(t, harm(indexPath(dir), index))
		if name == "other lines" { // all that tells is the folder's time
			must(t, os.Chtimes(indexPath(dir), time.Time{}, time.Now().Add(-time.Hour)))
		}
		for range 2 {
			if got := listed(t, dir, Query{}); !cmp.Equal(got, []string{"two", "one"}) {
				t.Errorf("%s: listed %q", name, got)
			}
		}
		if name != "not a file" {
			checkFresh(t, dir)
		}
	}
}

func TestFilesThatWereCopiedInAreListed(t *testing.T) {
	from, dir := t.TempDir(), t.TempDir()
	other := session(t, from, "/b", "copied")
	session(t, dir, "/a", "one")
	checkListed(t, dir, Query{}, "one")
	s := create(t, dir, user("open meanwhile"))
	future := time.Now().Add(time.Second) // a copy that keeps no times, on a clock of coarse steps
	must(t, os.WriteFile(filepath.Join(dir, other.ID()+".jsonl"), []byte(read(t, other.Path())), 0o600))
	must(t, os.Chtimes(dir, time.Time{}, future))
	must(t, s.Append(user("x"))) // must not hide what came in
	must(t, s.Close())
	got := listed(t, dir, Query{Workspace: "/b"})
	if !cmp.Equal(got, []string{"copied"}) {
		t.Errorf("listed %q", got)
	}
}

func TestAnIndexLineThatWasLostIsMadeUpFor(t *testing.T) {
	dir := t.TempDir()
	session(t, dir, "/a", "one")
	listed(t, dir, Query{})
	l, err := lockIndex(dir, true) // as while another process replaces the index
	must(t, err)
	s := create(t, dir, user("two"))
	must(t, l.Close())
	must(t, s.Flush(t.Context()))
	checkListed(t, dir, Query{}, "two", "one")
}

func TestALineAfterATornOneIsRead(t *testing.T) {
	dir := t.TempDir()
	session(t, dir, "/a", "one")
	s := session(t, dir, "/a", "two")
	listed(t, dir, Query{})
	f, err := os.OpenFile(indexPath(dir), os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	_, err = f.WriteString(`{"id":"17`) // as a full disk leaves it
	must(t, errors.Join(err, f.Close()))
	must(t, appendIndex(dir, Info{ID: s.ID(), Title: "only the index knows", Updated: time.Now()}))
	checkListed(t, dir, Query{}, "only the index knows", "one")
}

func TestTheIndexDoesNotGrowWithoutEnd(t *testing.T) {
	dir := t.TempDir()
	s := session(t, dir, "/a", "one")
	listed(t, dir, Query{})
	i, ok := infoOf(dir, s.ID())
	if !ok {
		t.Fatal("no session")
	}
	i.Directories = []string{strings.Repeat("x", 10_000)}
	for range 50 {
		must(t, appendIndex(dir, i))
	}
	listed(t, dir, Query{})
	info, err := os.Stat(indexPath(dir))
	must(t, err)
	if info.Size() > 20_000 {
		t.Errorf("it has %d bytes for one session", info.Size())
	}
	checkListed(t, dir, Query{}, "one")
}

func TestProcessesShareTheIndex(t *testing.T) {
	dir := t.TempDir()
	session(t, dir, "/a", "mine")
	listed(t, dir, Query{})
	a, _, _ := child(t, "enter", dir)
	b, _, _ := child(t, "enter", dir)
	for range 20 {
		must(t, os.Chtimes(dir, time.Time{}, time.Now().Add(time.Hour))) // every List replaces or settles the index
		if _, err := List(dir, Query{}); err != nil {
			t.Error(err)
		}
	}
	must(t, a.Wait())
	must(t, b.Wait())
	if got := listed(t, dir, Query{Limit: 7}); len(got) != 41 {
		t.Errorf("%d sessions of 41 are listed", len(got))
	}
}

func TestTrashKeepsAllOfASession(t *testing.T) {
	dir := t.TempDir()
	s := create(t, dir, user("one"))
	must(t, s.Partial(Partial{PartialText, "m", "half"}))
	must(t, os.Mkdir(s.OutputDir(), 0o700))
	must(t, os.WriteFile(filepath.Join(s.OutputDir(), "out"), []byte("x"), 0o600))
	var locked *LockedError
	if err := Trash(dir, s.ID()); !errors.As(err, &locked) {
		t.Errorf("deleting an open session says %v", err)
	}
	must(t, s.Close())
	must(t, Trash(dir, s.ID()))
	names, err := filepath.Glob(filepath.Join(dir, s.ID()+"*"))
	if err != nil || len(names) > 0 {
		t.Errorf("left behind: %q", names)
	}
	checkListed(t, dir, Query{})
	trashed, err := Trashed(dir)
	if err != nil || len(trashed) != 1 || trashed[0].ID != s.ID() || trashed[0].Title != "one" {
		t.Errorf("in the trash: %+v, %v", trashed, err)
	}
	if err := Trash(dir, s.ID()); !errors.Is(err, ErrNotFound) {
		t.Errorf("deleting it again says %v", err)
	}
	must(t, Restore(dir, s.ID()))
	checkListed(t, dir, Query{}, "one")
	read(t, filepath.Join(s.OutputDir(), "out"))
	if got := open(t, dir, s.ID()); got.Len() != 3 {
		t.Errorf("restored with %d events, want the half answer too", got.Len())
	}
	if trashed, err := Trashed(dir); err != nil || len(trashed) > 0 {
		t.Errorf("still in the trash: %+v, %v", trashed, err)
	}
}

func TestTitles(t *testing.T) {
	long := strings.Repeat("word ", 40)
	for text, want := range map[string]string{
		"  fix\n\tthe   bug ":   "fix the bug",
		long:                    strings.TrimSpace(long[:75]) + "…",
		strings.Repeat("é", 90): strings.Repeat("é", 79) + "…",
		"\xff\n":                "",
	} {
		if got := oneTitle(text); got != want || len([]rune(got)) > maxTitle {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
	s := InMemory(Header{})
	for _, step := range []struct {
		event Event
		want  string
	}{
		{User{[]Part{Image{Data: "x"}, Text{" "}}}, ""}, {user("first"), "first"}, {user("second"), "first"},
		{Name{"given"}, "given"}, {Name{" "}, "first"},
	} {
		must(t, s.Append(step.event))
		if got := s.Title(); got != step.want {
			t.Errorf("after %v: %q, want %q", step.event, got, step.want)
		}
	}
}

func TestModeAndSelectionAreTheLastOnes(t *testing.T) {
	list := []Event{Mark{Mode: "act"}.Event(), Mark{Mode: "plan"}.Event(), Selection{"p", "1"}, Selection{"p", "2"}, Mark{Interrupted: "x"}.Event(),
		Extension{"other", json.RawMessage(`{"mode":"act"}`)}, Extension{Reserved, json.RawMessage(`"mode"`)}, user("a")}
	check := func(s *Store) {
		sel, ok := s.Selection()
		if s.Mode() != "plan" || sel != (Selection{"p", "2"}) || !ok {
			t.Errorf("mode %q, selection %v, %v", s.Mode(), sel, ok)
		}
	}
	s := create(t, t.TempDir(), list...)
	check(s)
	check(reopen(t, s))
	if s := InMemory(Header{}); s.Mode() != "" {
		t.Errorf("a new session has mode %q", s.Mode())
	}
}
