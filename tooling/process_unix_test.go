//go:build linux || darwin

package tooling

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// hang is far above what any test takes: it bounds what would otherwise wait for ever.
const hang = 20 * time.Second

// shell is a Process that runs script, with its output in out.
func shell(script string) (p Process, out *bytes.Buffer) {
	out = &bytes.Buffer{}
	return Process{Path: "bash", Args: []string{"--noprofile", "--norc", "-c", script}, Stdout: out, Stderr: out}, out
}

// bound is a context that ends only when something hangs.
func bound(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	t.Cleanup(cancel)
	return ctx
}

func run(t *testing.T, script string) (Exit, string) {
	t.Helper()
	p, out := shell(script)
	exit, err := p.Run(bound(t))
	if err != nil {
		t.Fatalf("running %q: %v, output %q", script, err, out)
	}
	return exit, out.String()
}

// A trigger is a writer that calls a function once the text it waits for was written.
type trigger struct {
	bytes.Buffer
	text string
	call func()
	once sync.Once
}

func (w *trigger) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	if strings.Contains(w.String(), w.text) {
		w.once.Do(w.call)
	}
	return n, err
}

// cut runs script and cancels it once it has written "ready".
func cut(t *testing.T, script string, grace time.Duration) (Exit, string) {
	t.Helper()
	ctx, cancel := context.WithCancel(bound(t))
	defer cancel()
	p, _ := shell(script)
	out := &trigger{text: "ready\n", call: cancel}
	p.Stdout, p.Stderr, p.Grace = out, out, grace
	exit, err := p.Run(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("running %q: error %v, want that of the context; output %q", script, err, out)
	}
	return exit, out.String()
}

// assertGone fails unless the processes whose numbers stand in text, a word each, have ended.
func assertGone(t *testing.T, text string) {
	t.Helper()
	found := false
	for _, word := range strings.Fields(text) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			continue
		}
		found = true
		if err := unix.Kill(pid, 0); !errors.Is(err, unix.ESRCH) {
			t.Errorf("process %d is still there (%v)", pid, err)
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	if !found {
		t.Errorf("there is no process number in %q", text)
	}
}

func TestRunTellsHowAProcessEnded(t *testing.T) {
	exit, out := run(t, "echo a; echo b >&2; exit 3")
	if exit.Code != 3 || exit.Signal != "" || out != "a\nb\n" || exit.Left != nil || exit.Duration <= 0 {
		t.Errorf("got %+v and output %q", exit, out)
	}
	if exit, _ := run(t, "kill -KILL $$"); exit.Code != -1 || exit.Signal != "SIGKILL" {
		t.Errorf("of a killed process: %+v", exit)
	}
}

func TestRunKeepsOutputsApart(t *testing.T) {
	p, out := shell("cat; echo err >&2; pwd")
	var errs bytes.Buffer
	p.Stderr, p.Stdin, p.Dir = &errs, strings.NewReader("in\n"), "/"
	if _, err := p.Run(bound(t)); err != nil || out.String() != "in\n/\n" || errs.String() != "err\n" {
		t.Errorf("got %q and %q, %v", out, &errs, err)
	}
}

func TestRunOfWhatCannotStart(t *testing.T) {
	_, err := Process{Path: "/nowhere/at/all"}.Run(bound(t))
	if err == nil || !strings.HasPrefix(err.Error(), "starting /nowhere/at/all: ") {
		t.Errorf("got %v", err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := (Process{Path: "bash"}).Run(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
}

func TestRunPassesOnAWriterThatFails(t *testing.T) {
	p, _ := shell("echo x")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	w.Close()
	p.Stdout = struct{ *os.File }{w}
	p.Stderr = nil
	if _, err := p.Run(bound(t)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestMarkIsInTheEnvironment(t *testing.T) {
	p, out := shell("echo $NIMLET_CALL $NIMLET_TREE")
	p.Mark = "call-7"
	p.Env = append(os.Environ(), treeVariable+"=outer")
	if _, err := p.Run(bound(t)); err != nil || !strings.HasPrefix(out.String(), "call-7 outer,") {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestBackgroundProcessIsEndedAndNamed(t *testing.T) {
	// The answer of cat shows that it runs, rather than the shell that will become it.
	exit, out := run(t, `mkfifo `+fifo(t)+`.a `+fifo(t)+`.b; exec 3<>`+fifo(t)+`.a 4<>`+fifo(t)+`.b; rm `+fifo(t)+`.a `+fifo(t)+`.b
		cat <&3 >&4 & echo up >&3; read x <&4; echo $x $!`)
	if exit.Code != 0 || !slices.Equal(exit.Left, []string{"cat"}) || !strings.HasPrefix(out, "up ") {
		t.Errorf("got %+v and %q", exit, out)
	}
	assertGone(t, out)
}

func TestStubbornBackgroundProcessIsKilled(t *testing.T) {
	exit, out := run(t, `mkfifo `+fifo(t)+`
		bash -c 'trap "" TERM; echo $$ > `+fifo(t)+`; while :; do read -t 1000; done < <(sleep 1000)' &
		cat `+fifo(t)+`; rm `+fifo(t))
	if !slices.Contains(exit.Left, "bash") {
		t.Errorf("got %+v", exit)
	}
	assertGone(t, out)
}

// fifo is a name for a pipe of the test, for its processes to wait for each other.
func fifo(t *testing.T) string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("nimlet-%d-%s", os.Getpid(), t.Name()))
}

func TestProcessThatNeedsATerminalDoesNotWait(t *testing.T) {
	if exit, out := run(t, "read x < /dev/tty"); exit.Code == 0 || !strings.Contains(out, "/dev/tty") {
		t.Errorf("got %+v and %q", exit, out)
	}
}

func TestCancelLetsAProcessCleanUp(t *testing.T) {
	exit, out := cut(t, `trap 'echo bye; exit 4' TERM; echo ready; sleep 1000 & wait`, hang)
	if exit.Code != 4 || !strings.HasSuffix(out, "bye\n") {
		t.Errorf("got %+v and %q", exit, out)
	}
}

func TestCancelKillsWhatIgnoresIt(t *testing.T) {
	exit, out := cut(t, `trap '' TERM; echo $$; sleep 1000 & echo $!; echo ready; wait`, 50*time.Millisecond)
	if exit.Signal != "SIGKILL" {
		t.Errorf("got %+v", exit)
	}
	assertGone(t, out)
}

func TestManyProcessesAtOnceKeepApart(t *testing.T) {
	var group sync.WaitGroup
	for i := range 24 {
		group.Go(func() {
			p, out := shell(fmt.Sprintf("(sleep 1000 &) ; sleep 1000 & (exit 1); bash -c 'exit %d'", i))
			exit, err := p.Run(bound(t))
			if err != nil || exit.Code != i {
				t.Errorf("process %d: %+v, %v, %q", i, exit, err, out)
			}
		})
	}
	group.Wait()
}
