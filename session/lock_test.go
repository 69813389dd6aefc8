package session

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestAnOpenSessionNamesItsHolder(t *testing.T) {
	dir := lay(t, testHeader+lines(t, user("a")), "")
	c, in, out := child(t, "hold", dir)
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	for what, do := range map[string]func() error{
		"opening":  func() error { _, err := Open(dir, "1"); return err },
		"deleting": func() error { return Trash(dir, "1") },
	} {
		var locked *LockedError
		if err := do(); !errors.As(err, &locked) || locked.ID != "1" || !strings.Contains(err.Error(), "process "+strconv.Itoa(c.Process.Pid)+" ") {
			t.Errorf("%s says %v, want the holder, process %d", what, err, c.Process.Pid)
		}
	}
	shown, err := Load(dir, "1")
	must(t, err)
	if shown.Len() != 1 || shown.Append(user("b")) == nil {
		t.Error("a session that is open elsewhere cannot be read, or can be written")
	}
	must(t, shown.Close())
	must(t, in.Close())
	must(t, c.Wait())
	must(t, open(t, dir, "1").Close())
	if _, err := os.Stat(dir + "/1.lock"); err == nil {
		t.Error("the lock file is left behind")
	}
}

func TestALockEndsWithItsProcess(t *testing.T) {
	dir := lay(t, testHeader, "")
	c, _, out := child(t, "hold", dir)
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	must(t, c.Process.Kill())
	_ = c.Wait() // it was killed
	must(t, open(t, dir, "1").Append(user("a")))
}

func TestASessionIsOpenOnceInAProcess(t *testing.T) {
	dir := t.TempDir()
	s := create(t, dir, user("a"))
	var locked *LockedError
	if _, err := Open(dir, s.ID()); !errors.As(err, &locked) || !strings.Contains(locked.Holder, strconv.Itoa(os.Getpid())) {
		t.Errorf("opening it again says %v", err)
	}
	reopen(t, s)
}

func TestOnlyOneHoldsALockWhileOthersTryAndRelease(t *testing.T) {
	dir := t.TempDir()
	var holders, taken atomic.Int32
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 300 {
				l, err := acquire(dir, "1")
				if err != nil {
					continue
				}
				if taken.Add(1); holders.Add(1) != 1 {
					t.Error("two hold the lock")
				}
				runtime.Gosched()
				holders.Add(-1)
				if err := l.release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if taken.Load() == 0 {
		t.Error("nobody ever got the lock")
	}
}

func TestUnknownIDs(t *testing.T) {
	dir := t.TempDir()
	for _, id := range []string{"7", "", "../1", "a/b", `a\b`, "1.jsonl", strings.Repeat("1", 200), "\x00"} {
		for what, do := range map[string]func(string, string) error{
			"Open":    func(dir, id string) error { _, err := Open(dir, id); return err },
			"Load":    func(dir, id string) error { _, err := Load(dir, id); return err },
			"Trash":   Trash,
			"Restore": Restore,
		} {
			if err := do(dir, id); !errors.Is(err, ErrNotFound) {
				t.Errorf("%s(%q): %v", what, id, err)
			}
		}
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) > 0 {
		t.Errorf("looking for unknown ids left %v, %v", names, err)
	}
}
