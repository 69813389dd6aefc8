package tooling

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// playNimlet has the test binary run one Process until it is killed.
const playNimlet = "TEST_PLAY_NIMLET"

func TestMain(m *testing.M) {
	if script := os.Getenv(playNimlet); script != "" {
		p := Process{Path: "bash", Args: []string{"-c", script}, Stdout: os.Stdout, Stderr: os.Stderr}
		_, _ = p.Run(context.Background())
		return
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if left := childrenOf(os.Getpid()); len(left) > 0 {
			println("processes are left:", len(left))
			code = 1
		}
		os.Exit(code)
	}))
}

// A process that has called setsid is in no group of ours, and its parent is gone.
const daemon = `(setsid bash -c 'echo $$ > FIFO; exec sleep 1000' &)
	cat FIFO; rm FIFO`

func TestDaemonIsEndedAndNamed(t *testing.T) {
	exit, out := run(t, "mkfifo "+fifo(t)+"\n"+strings.ReplaceAll(daemon, "FIFO", fifo(t)))
	if len(exit.Left) != 1 {
		t.Errorf("got %+v", exit)
	}
	assertGone(t, out)
}

func TestCancelEndsDaemons(t *testing.T) {
	_, out := cut(t, "mkfifo "+fifo(t)+"\n"+strings.ReplaceAll(daemon, "FIFO", fifo(t))+"\necho ready; sleep 1000", hang)
	assertGone(t, out)
}

func TestCancelEndsWhatShedItsMark(t *testing.T) {
	_, out := cut(t, `env -i setsid -w bash -c 'echo $$ $PPID; echo ready; sleep 1000'`, hang)
	assertGone(t, out)
}

// One call must not end what another started.
func TestEndingOneTreeLeavesTheOther(t *testing.T) {
	run1, out := shell("mkfifo " + fifo(t) + "; (setsid bash -c 'echo up; read x < " + fifo(t) + "; echo got $x; kill $0' $$ &); sleep 1000")
	run1.Mark = "same"
	done := make(chan struct{})
	up := make(chan struct{})
	w := &trigger{text: "up\n", call: func() { close(up) }}
	run1.Stdout = w
	go func() {
		defer close(done)
		_, _ = run1.Run(bound(t))
	}()
	<-up
	run2, _ := shell("(setsid sleep 1000 &)")
	run2.Mark = "same"
	if _, err := run2.Run(bound(t)); err != nil {
		t.Error(err)
	}
	run(t, "echo hello > "+fifo(t)+"; rm "+fifo(t))
	<-done
	if !strings.Contains(w.String(), "got hello\n") {
		t.Errorf("the other's daemon was ended: %q %q", w, out)
	}
}

// What sheds its mark and its parent is not found, but must not hold the call either.
func TestEscapedProcessDoesNotHoldTheCall(t *testing.T) {
	_, out := run(t, "mkfifo "+fifo(t)+`
		(env -i setsid bash -c 'echo $$; echo > `+fifo(t)+`; exec sleep 1000' &)
		cat `+fifo(t)+`; rm `+fifo(t))
	pid, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitGone([]member{{pid: pid}}, hang)
	run(t, "true")
	assertGone(t, out) // the next call reaps it
}

func TestOrphansAreReaped(t *testing.T) {
	for range 20 {
		run(t, "(setsid true &); (true &); (set -m; true & ); (setsid bash -c 'true & true' &)")
	}
	if left := childrenOf(os.Getpid()); len(left) > 0 {
		t.Errorf("%d children are left", len(left))
	}
}

func TestReapingLeavesTheChildrenOfOthers(t *testing.T) {
	var others []*exec.Cmd
	for range 5 {
		c := exec.Command("true")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		others = append(others, c)
	}
	run(t, "(setsid true &)")
	for _, c := range others {
		if err := c.Wait(); err != nil {
			t.Errorf("waiting for another child: %v", err)
		}
	}
}

func TestChildDiesWithNimlet(t *testing.T) {
	nimlet := exec.Command(os.Args[0])
	nimlet.Env = append(os.Environ(), playNimlet+"=echo $$; exec sleep 1000")
	out, err := nimlet.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := nimlet.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	pid, numeric := strconv.Atoi(strings.TrimSpace(line))
	if err := errors.Join(err, numeric, nimlet.Process.Kill()); err != nil {
		t.Fatal(err)
	}
	_ = nimlet.Wait() // it says that it was killed
	awaitGone([]member{{pid: pid}}, hang)
	run(t, "true") // reaps it, if this process adopted it
	assertGone(t, line)
}

func TestNothingIsLeftOpen(t *testing.T) {
	run(t, "true")
	before := openFiles(t)
	for range 10 {
		run(t, "sleep 1000 & true")
		cut(t, "sleep 1000 & echo ready; wait", time.Second)
	}
	if after := openFiles(t); after > before {
		t.Errorf("%d files were open, now %d", before, after)
	}
}

func openFiles(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
