package tooling

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// A Process is a child to run to its end, with all that it starts. Bash, tool.json executables
// and extensions run this way.
//
// The child leads a session and a process group of its own, so that no question of sudo or ssh
// can reach a terminal. On Linux what leaves the group (setsid, a daemon) is found by a mark in
// its environment once its parent is gone, since nimlet adopts it; on Windows a job holds the
// whole tree; on macOS the group is what is promised. If nimlet is killed, Windows ends the
// tree and Linux the child itself, but not the child's own children.
//
// A child that runs in a group of its own must be started here: of those that are not in this
// registry and not in nimlet's group, Linux's zombies are taken for adopted ones and reaped.
type Process struct {
	Path   string    // an absolute path, or a name to look up in PATH
	Args   []string  // without the program's name
	Env    []string  // nil: that of nimlet
	Dir    string    // "": that of nimlet
	Stdin  io.Reader // nil: empty. What is no *os.File must not block for ever
	Stdout io.Writer // nil: dropped
	Stderr io.Writer // nil: dropped; the same as Stdout for both in the order they came
	Mark   string    // the value of NIMLET_CALL in the environment; "" sets none

	// Grace is the time from SIGTERM to SIGKILL; 0 means 1 s. Windows ends at once.
	Grace time.Duration
}

// An Exit is how a Process ended.
type Exit struct {
	Code     int           // exit status; -1 when a signal ended it
	Signal   string        // that signal, as "SIGKILL"; "" for none
	Duration time.Duration // from start to end
	Left     []string      // names of what it had left running, which was ended too
}

// drainTime is how long output is waited for after everything that was known has ended: only
// a process that escaped can still hold the pipe.
const drainTime = 500 * time.Millisecond

// treeVariable holds the tokens of the trees a process belongs to. A nimlet that runs inside a
// tool of another adds its own.
const treeVariable = "NIMLET_TREE"

// Run starts the process and returns when it and all that it started have ended. When ctx ends
// first, the tree is ended and the error is ctx's; any other error means that the process did
// not start, that its output could not be passed on, or that something could not be ended.
func (p Process) Run(ctx context.Context) (Exit, error) {
	if err := ctx.Err(); err != nil {
		return Exit{}, err
	}
	output := &gate{}
	cmd, token := p.command(output)
	begun := time.Now()
	t, err := startTree(cmd, token)
	if err != nil {
		return Exit{}, fmt.Errorf("starting %s: %w", p.Path, err)
	}
	defer t.release()
	select {
	case <-t.ended:
	case <-ctx.Done():
	}
	cut := !isClosed(t.ended)
	left, stuck := t.end(p.grace())
	if !isClosed(t.ended) && stuck != nil {
		output.shut() // the caller's writers are its own again
		go cmd.Wait() // nothing can end the child; it is reaped whenever it ends
		return Exit{Code: -1, Duration: time.Since(begun), Left: left}, fmt.Errorf("ending %s: %w", p.Path, stuck)
	}
	<-t.ended
	err = cmd.Wait()
	exit := Exit{Code: cmd.ProcessState.ExitCode(), Signal: exitSignal(cmd.ProcessState), Duration: time.Since(begun)}
	if cut {
		return exit, ctx.Err()
	}
	exit.Left = left
	var status *exec.ExitError
	if errors.As(err, &status) || errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	if err = errors.Join(err, stuck); err != nil {
		return exit, fmt.Errorf("running %s: %w", p.Path, err)
	}
	return exit, nil
}

// command makes the command of p, with output between the child and the writers of p, and the
// token that marks its tree.
func (p Process) command(output *gate) (cmd *exec.Cmd, token string) {
	cmd = exec.Command(p.Path, p.Args...)
	cmd.Dir, cmd.Stdin, cmd.WaitDelay = p.Dir, p.Stdin, drainTime
	cmd.Stdout = output.guard(p.Stdout)
	cmd.Stderr = cmd.Stdout
	if p.Stderr != p.Stdout {
		cmd.Stderr = output.guard(p.Stderr)
	}
	env := p.Env
	if env == nil {
		env = os.Environ()
	}
	token = rand.Text()
	trees := token
	for _, entry := range env {
		if outer, ok := strings.CutPrefix(entry, treeVariable+"="); ok {
			trees = outer + "," + token
		}
	}
	cmd.Env = append(env[:len(env):len(env)], treeVariable+"="+trees)
	if p.Mark != "" {
		cmd.Env = append(cmd.Env, "NIMLET_CALL="+p.Mark)
	}
	return cmd, token
}

func (p Process) grace() time.Duration {
	if p.Grace == 0 {
		return time.Second
	}
	return p.Grace
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// A gate stands before the writers of a Process, so that nothing reaches them after Run.
type gate struct {
	mu     sync.Mutex
	closed bool
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// guard returns w behind the gate. A file is the child's own to write to.
func (g *gate) guard(w io.Writer) io.Writer {
	if _, isFile := w.(*os.File); isFile || w == nil {
		return w
	}
	return &guarded{gate: g, to: w}
}

type guarded struct {
	gate *gate
	to   io.Writer
}

func (w *guarded) Write(p []byte) (int, error) {
	w.gate.mu.Lock()
	defer w.gate.mu.Unlock()
	if w.gate.closed {
		return 0, os.ErrClosed
	}
	return w.to.Write(p)
}
