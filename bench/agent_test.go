package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// An agent is a program under test, nimlet or the yardstick, with a session open or about to be.
type agent struct {
	t      testing.TB
	in     io.WriteCloser
	out    *bufio.Reader
	cmd    *exec.Cmd
	folder string // the session's workspace
	home   string
	calls  int
	id     string // of the session
	bytes  int    // that came out
	lines  int
}

// start runs the program of that name. It ends with the test.
func start(t testing.TB, name string) *agent {
	t.Helper()
	var flags []string
	if name == nimlet {
		flags = []string{"--acp", "--yolo", "--provider", "offline"}
	}
	return startIn(t, t.TempDir(), name, flags...)
}

// startIn is start for a home that may have settings, and flags of the caller's.
func startIn(t testing.TB, home, name string, flags ...string) *agent {
	t.Helper()
	if err := builds[name](); err != nil {
		t.Fatal(err)
	}
	a := &agent{t: t, folder: t.TempDir(), home: home}
	a.cmd = exec.Command(filepath.Join(folder, name), flags...)
	// Nothing of the machine's own settings, and no key, takes part.
	a.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + a.home, "USERPROFILE=" + a.home, "SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}
	a.cmd.Stderr = os.Stderr
	in, err := a.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.kill)
	a.in, a.out = in, bufio.NewReaderSize(out, 1<<20)
	return a
}

// stop ends the program as an editor does, by closing its input.
func (a *agent) stop() {
	a.t.Helper()
	if err := errors.Join(a.in.Close(), a.cmd.Wait()); err != nil {
		a.t.Error("ending the program:", err)
	}
}

// kill ends the program when a failed test did not come to stop it.
func (a *agent) kill() {
	if a.cmd.ProcessState == nil {
		a.cmd.Process.Kill()
		a.cmd.Wait()
	}
}

func (a *agent) initialize() {
	a.t.Helper()
	a.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}, "clientInfo": map[string]any{"name": "bench", "version": "1"}}, nil)
}

func (a *agent) newSession() {
	a.t.Helper()
	result := a.call("session/new", map[string]any{"cwd": a.folder, "mcpServers": []any{}}, nil)
	var session struct{ SessionID string }
	if err := json.Unmarshal(result, &session); err != nil || session.SessionID == "" {
		a.t.Fatalf("session/new answered %s (%v)", result, err)
	}
	a.id = session.SessionID
}

func (a *agent) closeSession() {
	a.t.Helper()
	a.call("session/close", map[string]any{"sessionId": a.id}, nil)
}

// prompt sends text and returns what the agent said, all chunks joined.
func (a *agent) prompt(text string) string {
	a.t.Helper()
	var said strings.Builder
	result := a.call("session/prompt", map[string]any{"sessionId": a.id, "prompt": []any{map[string]any{"type": "text", "text": text}}}, &said)
	if !strings.Contains(string(result), `"end_turn"`) {
		a.t.Fatalf("the prompt ended with %s", result)
	}
	return said.String()
}

type message struct {
	ID     json.RawMessage
	Method string
	Result json.RawMessage
	Error  json.RawMessage
	Params struct {
		Update struct {
			SessionUpdate string
			Content       json.RawMessage
		}
	}
}

// call sends a request and returns its result. Text that comes meanwhile goes to said; nil drops it.
func (a *agent) call(method string, params any, said *strings.Builder) json.RawMessage {
	a.t.Helper()
	a.calls++
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": a.calls, "method": method, "params": params})
	if err != nil {
		a.t.Fatal(err)
	}
	if _, err := a.in.Write(append(line, '\n')); err != nil {
		a.t.Fatal(err)
	}
	for {
		m := a.read()
		switch {
		case m.Method == "session/update" && said != nil && m.Params.Update.SessionUpdate == "agent_message_chunk":
			var content struct{ Text string }
			if err := json.Unmarshal(m.Params.Update.Content, &content); err != nil {
				a.t.Fatal(err)
			}
			said.WriteString(content.Text)
		case m.Method == "session/update":
		case m.Method != "":
			a.t.Fatalf("%s asks for %s, which this editor does not offer", method, m.Method)
		case m.Error != nil:
			a.t.Fatalf("%s failed: %s", method, m.Error)
		case string(m.ID) == strconv.Itoa(a.calls):
			return m.Result
		}
	}
}

func (a *agent) read() (m message) {
	a.t.Helper()
	line, err := a.out.ReadBytes('\n')
	if err != nil {
		a.t.Fatal("reading what the program says: ", err)
	}
	a.bytes, a.lines = a.bytes+len(line), a.lines+1
	if err := json.Unmarshal(line, &m); err != nil {
		a.t.Fatalf("%v in %s", err, line)
	}
	return m
}

// resident returns the memory of the program in MB; ok is false where the system does not tell.
func (a *agent) resident() (mb float64, ok bool) {
	if runtime.GOOS != "linux" {
		return 0, false
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.cmd.Process.Pid))
	if err != nil {
		a.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		a.t.Fatal(err)
	}
	return float64(kb) / 1024, true
}

// timed returns how long f takes.
func timed(f func()) time.Duration {
	before := time.Now()
	f()
	return time.Since(before)
}
