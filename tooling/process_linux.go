package tooling

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// children is what the kernel knows of this whole process, and so cannot belong to less: it is
// the parent of every leader and adopts the orphans of their trees.
var children = struct {
	adopt   func() error // makes nimlet the parent of orphans, once
	mu      sync.Mutex   // held while a child is started and while zombies are reaped
	leaders map[int]bool // children that somebody waits for
}{
	adopt:   sync.OnceValue(func() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }),
	leaders: map[int]bool{},
}

// startTree starts cmd. The kernel sends the signal for a parent's death when the thread that
// started the child ends, so that thread is kept: it is the one that waits for the child.
func startTree(cmd *exec.Cmd, token string) (*tree, error) {
	if err := children.adopt(); err != nil {
		return nil, err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: unix.SIGKILL}
	type outcome struct {
		t   *tree
		err error
	}
	started := make(chan outcome)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		t, err := beginKnown(cmd, token)
		started <- outcome{t, err}
		if err == nil {
			t.await()
		}
	}()
	o := <-started
	return o.t, o.err
}

// beginKnown starts cmd and notes its leader before anybody can take it for an orphan.
func beginKnown(cmd *exec.Cmd, token string) (*tree, error) {
	children.mu.Lock()
	defer children.mu.Unlock()
	t, err := begin(cmd, token)
	if err == nil {
		children.leaders[t.leader] = true
	}
	return t, err
}

// release forgets the leader, which was reaped, and reaps the orphans that have ended.
func (t *tree) release() {
	children.mu.Lock()
	defer children.mu.Unlock()
	delete(children.leaders, t.leader)
	for pid, s := range orphansLocked() {
		if s.zombie {
			var status unix.WaitStatus
			_, _ = unix.Wait4(pid, &status, unix.WNOHANG, nil) // by number: others wait for their own
		}
	}
}

func orphans() map[int]stat {
	children.mu.Lock()
	defer children.mu.Unlock()
	return orphansLocked()
}

// orphansLocked returns the children that were adopted: nobody here started them, and they are
// not in nimlet's own group as the children of other code are. children.mu is held.
func orphansLocked() map[int]stat {
	found, own := map[int]stat{}, unix.Getpgrp()
	for _, pid := range childrenOf(os.Getpid()) {
		if children.leaders[pid] {
			continue
		}
		if s, ok := statOf(pid); ok && s.group != own {
			found[pid] = s
		}
	}
	return found
}

// awaitExit returns when the child has ended, and leaves it to be reaped: until then its number
// is not given to another.
func awaitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// members returns the live processes of the tree. One look can miss a process whose parent ends
// meanwhile; where there was no such parent, one is enough.
func (t *tree) members() []member {
	members, ended := t.look()
	if len(members) == 0 && ended {
		members, _ = t.look()
	}
	return members
}

// look walks down from the leader and from the orphans that are of its group or bear its mark.
// ended says that it met one that has ended.
func (t *tree) look() (members []member, ended bool) {
	queue := []int{t.leader}
	for pid, s := range orphans() {
		ended = ended || s.zombie
		if s.group == t.leader || !s.zombie && t.marks(pid) {
			queue = append(queue, pid)
		}
	}
	for seen := map[int]bool{}; len(queue) > 0; queue = queue[1:] {
		pid := queue[0]
		if seen[pid] {
			continue
		}
		seen[pid] = true
		s, ok := statOf(pid)
		if !ok || s.zombie {
			ended = ended || pid != t.leader
			continue
		}
		members = append(members, member{pid, s.name})
		queue = append(queue, childrenOf(pid)...)
	}
	return members, ended
}

// marks reports whether the tree's token stands in the environment of a process. A process that
// becomes another program has none for a moment, which must not let it get away.
func (t *tree) marks(pid int) bool {
	for range 20 {
		env, err := os.ReadFile(procFile(pid, "environ"))
		if err != nil || len(env) > 0 {
			return err == nil && bytes.Contains(env, []byte(t.token))
		}
		time.Sleep(time.Millisecond)
	}
	return false // it was started without any
}

func procFile(pid int, name string) string {
	return "/proc/" + strconv.Itoa(pid) + "/" + name
}

// childrenOf returns the children of all threads of a process.
func childrenOf(pid int) (pids []int) {
	tasks, err := os.Open(procFile(pid, "task"))
	if err != nil {
		return nil // the process has ended
	}
	defer tasks.Close()
	threads, _ := tasks.Readdirnames(-1) // likewise
	for _, thread := range threads {
		text, err := os.ReadFile(procFile(pid, "task/"+thread+"/children"))
		if err != nil {
			continue // the thread has ended
		}
		for field := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

// A stat is a little of what /proc/PID/stat tells.
type stat struct {
	name   string
	zombie bool
	group  int
}

func statOf(pid int) (s stat, ok bool) {
	text, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return stat{}, false
	}
	// The name stands in parentheses and may hold some itself.
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return stat{}, false
	}
	fields := strings.Fields(string(text[end+1:])) // state, parent, group, …
	if len(fields) < 3 {
		return stat{}, false
	}
	group, err := strconv.Atoi(fields[2])
	return stat{name: string(text[open+1 : end]), zombie: fields[0] == "Z" || fields[0] == "X", group: group}, err == nil
}

// awaitGone returns when all members have ended, or after the time given.
func awaitGone(members []member, limit time.Duration) {
	deadline := time.Now().Add(limit)
	for _, m := range members {
		fd, err := unix.PidfdOpen(m.pid, 0)
		if err != nil {
			continue // it has ended
		}
		awaitReadable(fd, deadline)
		unix.Close(fd)
	}
}

// awaitReadable returns when fd is readable, as one for a process is once that has ended.
func awaitReadable(fd int, deadline time.Time) {
	for {
		left := time.Until(deadline).Milliseconds()
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(max(left, 0)))
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
