// Package interop has clients that others wrote drive the real program: the official TypeScript
// SDK, acpx, and an older Go SDK. Each starts the agent as it starts any other. What crosses the
// wire is recorded on the way (record_test.go), and what nimlet said is held against the stable
// schema afterwards. The clients in JavaScript are installed once for a machine (install_test.go).
package interop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// hang bounds what must not hang; nothing that works comes near it, a slow machine included.
const hang = 3 * time.Minute

func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == recorder {
		os.Exit(record(os.Args[2], os.Args[3:]))
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(status int) {
		if built.dir != "" {
			_ = os.RemoveAll(built.dir)
		}
		os.Exit(status)
	}))
}

// built is the program under test, made by the first test that needs it.
var built struct {
	once sync.Once
	dir  string
	err  error
}

// nimlet returns the path of the program, built from the working tree.
func nimlet(t *testing.T) string {
	t.Helper()
	name := "nimlet"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "nimlet-interop"); built.err != nil {
			return
		}
		if out, err := exec.Command("go", "build", "-o", filepath.Join(built.dir, name), "nimlet").CombinedOutput(); err != nil {
			built.err = fmt.Errorf("building nimlet: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.dir, name)
}

// A desk is a workspace and an empty home, with nimlet ready to be started by a client.
type desk struct {
	t         *testing.T
	workspace string
	home      string
	wire      string   // the folder of the recordings
	agent     []string // the command a client starts
}

// sit makes a desk whose workspace has a file a.txt. When the test is over, its recordings are checked.
func sit(t *testing.T, flags ...string) *desk {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, workspace: filepath.Join(root, "ws"), home: filepath.Join(root, "home"), wire: filepath.Join(root, "wire")}
	for _, dir := range []string{d.workspace, d.home, d.wire} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	d.write("a.txt", "alpha\nbeta\n")
	d.agent = append([]string{self, recorder, d.wire, nimlet(t), "--acp", "--provider", "offline"}, flags...)
	t.Cleanup(func() { checkRecordings(t, d.wire) })
	return d
}

func (d *desk) write(name, text string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.workspace, name), []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) read(name string) string {
	d.t.Helper()
	data, err := os.ReadFile(filepath.Join(d.workspace, name))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(data)
}

func (d *desk) has(name string) bool {
	_, err := os.Stat(filepath.Join(d.workspace, name))
	return err == nil
}

// environ is the environment of a person who has just come to this machine.
func (d *desk) environ(more ...string) []string {
	var list []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "NIMLET_") && !strings.HasPrefix(name, "XDG_") && !strings.HasPrefix(name, "ACPX_") {
			list = append(list, v)
		}
	}
	return append(append(list, "HOME="+d.home, "USERPROFILE="+d.home), more...)
}

// A run is a program that has ended.
type run struct {
	stdout, stderr string
	status         int // -1 for one that did not run, or was ended since it hung
}

func (r run) String() string {
	return fmt.Sprintf("exit status %d; standard output:\n%s\nstandard error:\n%s", r.status, r.stdout, r.stderr)
}

// exec runs a program in the workspace until it has ended. What it prints goes to watch too, unless
// that is nil.
func (d *desk) exec(watch io.Writer, environ []string, program string, args ...string) run {
	ctx, cancel := context.WithTimeout(context.Background(), hang) // also used when the test is over
	defer cancel()
	var stdout, stderr bytes.Buffer
	c := exec.CommandContext(ctx, program, args...)
	c.Dir, c.Env, c.Stdout, c.Stderr, c.WaitDelay = d.workspace, environ, &stdout, &stderr, 5*time.Second
	if watch != nil {
		c.Stdout = io.MultiWriter(&stdout, watch)
	}
	err := c.Run()
	var exit *exec.ExitError
	if ctx.Err() != nil || err != nil && !errors.As(err, &exit) {
		return run{stdout.String(), fmt.Sprintf("%s\n%v (%v)", &stderr, err, ctx.Err()), -1}
	}
	return run{stdout.String(), stderr.String(), c.ProcessState.ExitCode()}
}

// A sighting is closed when a text was printed. It is the writer of one program.
type sighting struct {
	text    string
	seen    chan struct{}
	printed strings.Builder
}

func (s *sighting) Write(p []byte) (int, error) {
	before := strings.Contains(s.printed.String(), s.text)
	s.printed.Write(p)
	if !before && strings.Contains(s.printed.String(), s.text) {
		close(s.seen)
	}
	return len(p), nil
}
