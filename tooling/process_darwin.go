package tooling

import (
	"errors"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stateZombie is SZOMB of sys/proc.h.
const stateZombie = 5

// startTree starts cmd. Its tree is its process group: macOS lets no process adopt the orphans
// of another, so what leaves the group is not found.
func startTree(cmd *exec.Cmd, token string) (*tree, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	t, err := begin(cmd, token)
	if err != nil {
		return nil, err
	}
	go t.await()
	return t, nil
}

// release has nothing to give back here.
func (t *tree) release() {}

// members returns the live processes of the group.
func (t *tree) members() []member {
	processes, err := unix.SysctlKinfoProcSlice("kern.proc.pgrp", t.leader)
	if err != nil {
		return nil
	}
	var members []member
	for _, p := range processes {
		if p.Proc.P_stat != stateZombie {
			members = append(members, member{int(p.Proc.P_pid), unix.ByteSliceToString(p.Proc.P_comm[:])})
		}
	}
	return members
}

// awaitExit returns when the child has ended, and leaves it to be reaped.
func awaitExit(pid int) { awaitEvents([]member{{pid: pid}}, nil) }

// awaitGone returns when all members have ended, or after the time given.
func awaitGone(members []member, limit time.Duration) {
	deadline := time.Now().Add(limit)
	awaitEvents(members, &deadline)
}

// awaitEvents waits for the end of each member; a nil deadline is none.
func awaitEvents(members []member, deadline *time.Time) {
	queue, err := unix.Kqueue()
	if err != nil {
		return
	}
	defer unix.Close(queue)
	open := 0
	for _, m := range members {
		var event unix.Kevent_t
		unix.SetKevent(&event, m.pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
		event.Fflags = unix.NOTE_EXIT
		if _, err := unix.Kevent(queue, []unix.Kevent_t{event}, nil, nil); err == nil {
			open++ // an error means that it has ended
		}
	}
	for open > 0 {
		n, err := unix.Kevent(queue, nil, make([]unix.Kevent_t, open), remaining(deadline))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return
		}
		open -= n
	}
}

func remaining(deadline *time.Time) *unix.Timespec {
	if deadline == nil {
		return nil
	}
	left := unix.NsecToTimespec(max(0, time.Until(*deadline).Nanoseconds()))
	return &left
}
