// Package e2e holds tests of the built program over real pipes: what happens to it, its children
// and its files when it is killed, cancelled, left alone, or started where much is missing.
package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"nimlet/internal/acptest"
)

var program string // the built binary

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "nimlet-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "nimlet")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", program, "nimlet").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building nimlet: %v\n%s", err, out)
		return 1
	}
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// patience bounds how long a process may take to end. What it cuts off is a hang: the bound that is
// promised is two seconds, and the machine may be busy.
const patience = 15 * time.Second

// A desk is an editor that has nimlet as a child, with a workspace and a home.
type desk struct {
	*acptest.Editor
	t    testing.TB
	dir  string // the workspace
	home string // NIMLET_HOME
	env  []string
	args []string

	cmd    *exec.Cmd
	in     *os.File // of the process, this end
	out    *os.File
	stderr *record
	ended  chan struct{} // closed when the process has been waited for

	works int // counts the commands that were begun to be ended
}

// A record keeps what is written to it.
type record struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// sit starts nimlet in an empty workspace.
func sit(t testing.TB, args ...string) *desk {
	t.Helper()
	d := newDesk(t, args...)
	d.start()
	d.Initialize(`{}`)
	return d
}

func newDesk(t testing.TB, args ...string) *desk {
	t.Helper()
	d := &desk{t: t, dir: folder(t), home: filepath.Join(folder(t), ".nimlet"), args: append([]string{"--acp", "--provider", "offline"}, args...)}
	d.env = append(os.Environ(), "NIMLET_HOME="+d.home)
	return d
}

// folder is an empty folder whose path has no links in it.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func (d *desk) start() {
	d.t.Helper()
	in, w := pipe(d.t)
	r, out := pipe(d.t)
	cmd := exec.Command(program, d.args...)
	cmd.Dir, cmd.Env = d.dir, d.env
	cmd.Stdin, cmd.Stdout = in, out
	d.stderr = &record{}
	cmd.Stderr = d.stderr
	cmd.WaitDelay = patience // a child that holds standard error open
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	in.Close()
	out.Close()
	d.cmd, d.in, d.out, d.ended = cmd, w, r, make(chan struct{})
	ended := d.ended
	go func() {
		_ = cmd.Wait() // how it ended is read from its ProcessState
		close(ended)
	}()
	d.Editor = acptest.Connect(d.t, w, r)
	d.t.Cleanup(d.kill)
}

func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// kill ends the process at once, as kill -9 does, and waits for it.
func (d *desk) kill() {
	_ = d.cmd.Process.Kill() // it may have ended
	<-d.ended
	<-d.Editor.Ended()
	d.in.Close()
	d.out.Close()
}

// gone waits until the process has ended by itself and returns its exit code.
func (d *desk) gone() int {
	d.t.Helper()
	select {
	case <-d.ended:
	case <-time.After(patience):
		d.t.Fatalf("nimlet was still there after %v; standard error:\n%s", patience, d.stderr)
	}
	return d.cmd.ProcessState.ExitCode()
}

func (d *desk) write(name, text string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

// run calls nimlet once more, beside the editor, and returns all it wrote.
func (d *desk) run(args ...string) (string, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = d.dir, d.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// history is the conversation as it is stored, one event a line.
func (d *desk) history(id string) string {
	d.t.Helper()
	out, err := d.run("session", "show", "--json", id)
	if err != nil {
		d.t.Fatalf("nimlet session show: %v\n%s", err, out)
	}
	return out
}

// said is what a client was shown of the agent's messages, by message id.
func said(updates []acptest.Update) map[string]string {
	texts := map[string]string{}
	for _, u := range updates {
		if u.Kind == "agent_message_chunk" {
			texts[u.String("messageId")] += u.Text()
		}
	}
	return texts
}

// quoted is a command as the arguments of a call of bash.
func quoted(command string) string {
	text, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func contains(text string, parts ...string) error {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return fmt.Errorf("%q is not in %.2000q", p, text)
		}
	}
	return nil
}
