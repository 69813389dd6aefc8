package session

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAWriteThatCouldNotBeUndoneIsCutOffByTheNext(t *testing.T) {
	s := create(t, t.TempDir(), user("a"))
	must(t, s.file.Close()) // neither write nor truncate work now
	if err := s.Append(user("lost")); err == nil || !s.dirty {
		t.Fatalf("a write to a dead file: %v", err)
	}
	f, err := os.OpenFile(s.Path(), os.O_RDWR, 0)
	must(t, err)
	s.file = f
	_, err = f.WriteAt([]byte(`{"type":"user","role":"user","content":[{"type":"te`), s.end)
	must(t, err)
	must(t, s.Append(user("b")))
	s = reopen(t, s)
	if diff := cmp.Diff([]Event{user("a"), user("b")}, events(s)); diff != "" || len(s.Warnings()) > 0 {
		t.Errorf("%q (-want +got):\n%s", s.Warnings(), diff)
	}
}

func TestADiskThatDoesNotKeepWhatIsWrittenIsSaid(t *testing.T) {
	s := create(t, t.TempDir(), user("a"))
	must(t, s.file.Close())
	for what, err := range map[string]error{"flush": s.Flush(t.Context()), "append": s.Append(user("b")), "partial": s.Partial(Partial{Text: "x"})} {
		if !errors.Is(err, os.ErrClosed) || !strings.Contains(err.Error(), "disk") {
			t.Errorf("%s says %v", what, err)
		}
	}
}

func TestFlushWaitsForAllAppendedAndEndsWithItsContext(t *testing.T) {
	y := syncer{}
	y.appended()
	begun, end := make(chan struct{}), make(chan struct{})
	fsyncs := 0
	slow := func() error {
		if fsyncs++; fsyncs == 1 {
			close(begun)
			<-end
		}
		return nil
	}
	y.start(slow)
	<-begun
	y.appended() // during an fsync: that one does not cover it
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := y.flush(slow, ctx.Done()); !errors.Is(err, context.Canceled) {
		t.Errorf("a flush whose context ended says %v", err)
	}
	close(end)
	must(t, y.flush(slow, nil))
	must(t, y.close(slow))
	if fsyncs != 2 || y.done != 2 {
		t.Errorf("%d fsyncs brought %d of 2 appends to the disk", fsyncs, y.done)
	}
}

func TestACancelledFlushSaysWhy(t *testing.T) {
	s := create(t, t.TempDir(), user("a"))
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the editor left")
	cancel(why)
	if err := s.Flush(ctx); err != nil && !errors.Is(err, why) {
		t.Errorf("it says %v", err)
	}
}

func TestAClosedSessionTakesNothing(t *testing.T) {
	for name, s := range map[string]*Store{"file": create(t, t.TempDir(), user("a")), "memory": InMemory(Header{})} {
		must(t, s.Close())
		must(t, s.Close())
		s.Sync()
		if s.Append(user("b")) == nil || s.Partial(Partial{Text: "x"}) == nil || s.Flush(t.Context()) != nil {
			t.Errorf("%s: a closed session goes on", name)
		}
	}
}
