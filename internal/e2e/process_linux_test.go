package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nimlet/internal/acptest"
)

// tree are the processes that work for a desk: all whose environment has its NIMLET_HOME, or that it
// started in its workspace.
func (d *desk) tree() (list []string) {
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		d.t.Fatal(err)
	}
	for _, entry := range entries {
		cwd, _ := os.Readlink(filepath.Join(entry, "cwd"))
		if cwd != d.dir {
			continue
		}
		status, _ := os.ReadFile(filepath.Join(entry, "status"))
		words, _ := os.ReadFile(filepath.Join(entry, "cmdline"))
		if strings.Contains(string(status), "State:\tZ") || len(words) == 0 {
			continue
		}
		list = append(list, filepath.Base(entry)+" "+strings.ReplaceAll(string(words), "\x00", " "))
	}
	return list
}

// mustHave waits until n processes of the desk are there: one that is about to become another program
// has no name for a moment, and is not counted.
func (d *desk) mustHave(n int) {
	d.t.Helper()
	deadline := time.Now().Add(patience)
	for len(d.tree()) < n && time.Now().Before(deadline) {
		_ = exec.Command("sleep", "0.05").Run()
	}
	if here := d.tree(); len(here) < n {
		d.t.Errorf("only %d processes are there: %q", len(here), here)
	}
}

// mustLeave waits until nothing but n processes is left of the desk.
func (d *desk) mustLeave(n int) {
	d.t.Helper()
	deadline := time.Now().Add(patience)
	for len(d.tree()) > n && time.Now().Before(deadline) {
		_ = exec.Command("sleep", "0.05").Run()
	}
	if left := d.tree(); len(left) > n {
		d.t.Errorf("still there: %q", left)
		for _, p := range left {
			pid, _, _ := strings.Cut(p, " ")
			if id, err := strconv.Atoi(pid); err == nil && id != d.cmd.Process.Pid {
				_ = syscall.Kill(id, syscall.SIGKILL)
			}
		}
	}
}

// What commands leave behind if they are let: children in the background, in a session of their own,
// that ignore signals, whose parent is gone.
const stubborn = `trap "" TERM HUP INT; setsid sleep 31 & (setsid sh -c 'trap "" TERM; sleep 32 & wait' &) ; (sleep 33 &); echo rea""dy-%d; sleep 34; sleep 35; sleep 36`

func (d *desk) work(id string) *acptest.Call {
	d.t.Helper()
	d.works++
	turn := d.Prompt(id, "bash "+fmt.Sprintf(stubborn, d.works))
	ready := fmt.Sprintf("ready-%d", d.works)
	d.Await(func(u acptest.Update) bool {
		return u.Kind == "tool_call_update" && strings.Contains(fmt.Sprint(u.Body["content"]), ready)
	})
	return turn
}

func TestCancelLeavesNoProcessAndIsAnsweredSoon(t *testing.T) {
	d := sit(t, "--yolo")
	id := d.New(d.dir)
	for range 3 {
		turn := d.work(id)
		d.mustHave(5)
		asked := time.Now()
		d.Cancel(id)
		turn.Wait("cancelled")
		t.Logf("answered after %v", time.Since(asked))
		if left := d.tree(); len(left) != 1 {
			t.Errorf("when the answer came, there were still %q", left)
		}
	}
	d.Say(id, "hello")
}

func TestCloseLeavesNoProcessOfThatSessionAndAllOfOthers(t *testing.T) {
	d := sit(t, "--yolo")
	other := folder(t)
	a, b := d.New(d.dir), d.New(other)
	turnB := d.Prompt(b, "bash sleep 1; touch done")
	turnA := d.work(a)
	d.Call("session/close", map[string]any{"sessionId": a}, nil)
	if left := d.tree(); len(left) != 1 {
		t.Errorf("when the answer came, there were still %q", left)
	}
	turnA.Wait("cancelled")
	turnB.Wait("end_turn")
	if _, err := os.Stat(filepath.Join(other, "done")); err != nil {
		t.Error("the other session's command was ended")
	}
}

func TestTheProcessEndsWithAllItStarted(t *testing.T) {
	signal := func(s os.Signal) func(*desk) {
		return func(d *desk) {
			if err := d.cmd.Process.Signal(s); err != nil {
				d.t.Fatal(err)
			}
		}
	}
	for name, end := range map[string]func(*desk){
		"input closed": func(d *desk) { d.in.Close() },
		"output closed": func(d *desk) {
			d.out.Close()
			d.Notify("session/cancel", map[string]any{"sessionId": "none"})
			d.Go("session/list", map[string]any{})
		},
		"both closed": func(d *desk) { d.in.Close(); d.out.Close() },
		"SIGTERM":     signal(syscall.SIGTERM),
		"SIGHUP":      signal(syscall.SIGHUP),
		"SIGINT":      signal(syscall.SIGINT),
	} {
		t.Run(name, func(t *testing.T) {
			d := sit(t, "--yolo")
			id := d.New(d.dir)
			d.work(id)
			asked := time.Now()
			end(d)
			d.gone()
			t.Logf("gone after %v", time.Since(asked))
			d.mustLeave(0)
			mustBeWhole(t, d.history(id))
			if text := d.stderr.String(); strings.Contains(text, "panic") || strings.Contains(text, "goroutine ") {
				t.Errorf("standard error: %s", text)
			}
		})
	}
}

// watch finds the one child of a process and returns a func that waits until that child is gone.
func watch(t *testing.T, parent int) (wait func()) {
	t.Helper()
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", parent, parent))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(children)))
	if err != nil {
		t.Fatalf("the children of %d are %q", parent, children)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		defer unix.Close(fd)
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		for {
			n, err := unix.Poll(poll, int(patience.Milliseconds()))
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if err != nil || n == 0 {
				t.Errorf("process %d did not end (%v)", pid, err)
			}
			return
		}
	}
}

func TestTheProcessEndsWhenItsParentIsKilled(t *testing.T) {
	d := newDesk(t, "--yolo")
	// The parent is a shell that keeps the pipes open elsewhere, so that only its death tells.
	in, w := pipe(t)
	r, out := pipe(t)
	parent := exec.Command("sh", "-c", `"$@" & wait`, "sh", program, "--acp", "--yolo", "--provider", "offline")
	parent.Dir, parent.Env, parent.Stdout = folder(t), d.env, out
	parent.ExtraFiles = []*os.File{in}
	parent.Args[2] = `"$@" <&3 & wait`
	d.stderr = &record{}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	d.Editor = acptest.Connect(t, w, r)
	d.cmd = parent
	d.Initialize(`{}`)
	id := d.New(d.dir)
	d.work(id)
	orphan := watch(t, parent.Process.Pid)
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	out.Close()
	select {
	case <-d.Ended():
	case <-time.After(patience):
		t.Error("nimlet outlived its parent")
	}
	orphan() // it closes its output before it has put everything away
	d.mustLeave(0)
	w.Close()
	r.Close()
}

func TestAnIdleProcessEndsWithItsInput(t *testing.T) {
	for _, opened := range []bool{false, true} {
		d := newDesk(t)
		d.start()
		if opened {
			d.Initialize(`{}`)
			d.New(d.dir)
		}
		d.in.Close()
		if code := d.gone(); code != 0 {
			t.Errorf("exit status %d; standard error: %s", code, d.stderr)
		}
	}
}
