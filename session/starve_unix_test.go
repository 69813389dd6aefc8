//go:build unix

package session

import (
	"errors"
	"fmt"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// limit sets how large a file this process can make, which it meets as it would a full disk: a
// short write, then an error.
func limit(size uint64) error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
		return err
	}
	l.Cur = min(size, l.Max)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l)
}

// playStarved appends until the disk is full, and once more when there is space again.
func playStarved(dir string) error {
	signal.Ignore(syscall.SIGXFSZ)
	if err := limit(10_000); err != nil {
		return err
	}
	s, err := Create(dir, Header{ID: "1", Workspace: "/ws"})
	if err != nil {
		return err
	}
	for n := 0; err == nil && n < 100; n++ {
		err = s.Append(user(strings.Repeat("x", 900)), answer("y"))
	}
	if !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), "free some space") {
		return fmt.Errorf("a full disk says %w", err)
	}
	fmt.Println(s.Len())
	if err := limit(1 << 40); err != nil {
		return err
	}
	if err := s.Append(user("after")); err != nil {
		return err
	}
	return s.Close()
}

func TestAFullDiskLeavesWholeLines(t *testing.T) {
	dir := t.TempDir()
	c, _, out := child(t, "starve", dir)
	var n int
	if _, err := fmt.Fscan(out, &n); err != nil {
		t.Fatal(err)
	}
	must(t, c.Wait())
	s := open(t, dir, "1")
	got := events(s)
	if len(got) != n+1 || n < 4 || n%2 != 0 || len(s.Warnings()) > 0 {
		t.Fatalf("%d events, %d before the disk was full; %q", len(got), n, s.Warnings())
	}
	if diff := cmp.Diff([]Event{answer("y"), user("after")}, got[n-1:]); diff != "" {
		t.Error(diff)
	}
}
