//go:build linux || darwin

package tooling

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A tree is a running child and what it started.
type tree struct {
	leader int           // its process id, which is also that of its group and session
	token  string        // marks what belongs to it
	ended  chan struct{} // closed when the leader has ended; it is reaped later
}

// A member is a live process of a tree.
type member struct {
	pid  int
	name string
}

// killTime bounds how long a killed process is waited for. One that belongs to another user, or
// that hangs in the kernel, never goes.
const killTime = 3 * time.Second

// end ends all of the tree: SIGTERM, and SIGKILL for what lives on after grace. left names the
// members besides the leader; err tells of those that could not be ended.
func (t *tree) end(grace time.Duration) (left []string, err error) {
	members := t.members()
	for _, m := range members {
		if m.pid != t.leader {
			left = append(left, m.name)
		}
	}
	t.signal(members, unix.SIGTERM)
	awaitGone(members, grace)
	deadline := time.Now().Add(killTime)
	for {
		members = t.members()
		if len(members) == 0 {
			if !isClosed(t.ended) {
				_ = unix.Kill(-t.leader, unix.SIGKILL) // its first thread has ended and others run on
			}
			return left, nil
		}
		if time.Now().After(deadline) {
			return left, stuck(members)
		}
		t.signal(members, unix.SIGKILL)
		awaitGone(members, time.Until(deadline))
	}
}

// signal sends s to the group and to the members that left it. The leader is not reaped yet, so
// the group's number cannot belong to another.
func (t *tree) signal(members []member, s syscall.Signal) {
	if len(members) == 0 {
		return
	}
	_ = unix.Kill(-t.leader, s) // an error means that all of the group have ended
	for _, m := range members {
		_ = unix.Kill(m.pid, s) // likewise
	}
}

func stuck(members []member) error {
	var names []string
	for _, m := range members {
		names = append(names, fmt.Sprintf("%s (process %d)", m.name, m.pid))
	}
	return errors.New("still running and not to be ended: " + strings.Join(names, ", "))
}

// exitSignal names the signal that ended a process; "" for none.
func exitSignal(state *os.ProcessState) string {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return ""
	}
	return unix.SignalName(status.Signal())
}

// await closes t.ended once the leader has ended.
func (t *tree) await() {
	awaitExit(t.leader)
	close(t.ended)
}

// begin starts cmd as the leader of a new tree.
func begin(cmd *exec.Cmd, token string) (*tree, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &tree{leader: cmd.Process.Pid, token: token, ended: make(chan struct{})}, nil
}
