package interop

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A shell is a desk from which acpx is called, as a person or a script does.
type shell struct {
	*desk
	kit     kit
	node    string
	environ []string
}

func sitAtShell(t *testing.T) *shell {
	t.Helper()
	s := &shell{desk: sit(t), kit: clients(t)}
	s.node = s.kit.node(t)
	path := filepath.Dir(s.node) + string(os.PathListSeparator) + os.Getenv("PATH")
	s.environ = s.desk.environ("PATH="+path, "NO_COLOR=1")
	return s
}

// acpx calls acpx with nimlet as its agent, and fails the test unless it exits with want.
func (s *shell) acpx(want int, args ...string) run {
	s.t.Helper()
	r := s.call(nil, args...)
	if r.status != want {
		s.t.Fatalf("acpx %q, want status %d: %v", args, want, r)
	}
	return r
}

func (s *shell) call(watch io.Writer, args ...string) run {
	quoted := make([]string, len(s.agent))
	for i, word := range s.agent {
		quoted[i] = `"` + word + `"`
	}
	return s.exec(watch, s.environ, s.node, append([]string{s.kit.acpx(), "--cwd", s.workspace, "--agent", strings.Join(quoted, " ")}, args...)...)
}

func TestAcpxApprovesAndDenies(t *testing.T) {
	const denied = 5 // acpx: permission denied
	s := sitAtShell(t)
	r := s.acpx(0, "--approve-all", "exec", "bash touch made.txt")
	if !s.has("made.txt") || !strings.Contains(r.stdout, "touch made.txt (completed)") {
		t.Errorf("with --approve-all: %v", r)
	}
	r = s.acpx(denied, "--deny-all", "exec", "bash touch denied.txt")
	if s.has("denied.txt") || !strings.Contains(r.stdout, "touch denied.txt (failed)") {
		t.Errorf("with --deny-all: %v", r)
	}
	s.acpx(0, "--deny-all", "--no-fs", "exec", `edit {"path":"a.txt","old_text":"beta","new_text":"gamma"}`)
	if text := s.read("a.txt"); text != "alpha\ngamma\n" {
		t.Errorf("an edit, which needs no permission, left %q", text)
	}
	if r = s.acpx(0, "--format", "quiet", "exec", "hello"); !strings.Contains(r.stdout, "hello") {
		t.Errorf("with --format quiet: %v", r)
	}
}

func TestAcpxPrintsTheProtocol(t *testing.T) {
	s := sitAtShell(t)
	r := s.acpx(0, "--approve-all", "--format", "json", "--json-strict", "exec", "bash echo hello")
	if r.stderr != "" {
		t.Errorf("standard error: %s", r.stderr)
	}
	methods := map[string]bool{}
	for line := range strings.Lines(r.stdout) {
		var message struct {
			Method string
			Result struct{ StopReason string }
		}
		if err := json.Unmarshal([]byte(line), &message); err != nil {
			t.Errorf("%v: %s", err, line)
		}
		methods[message.Method+message.Result.StopReason] = true
	}
	for _, want := range []string{"initialize", "session/new", "session/prompt", "session/request_permission", "session/update", "end_turn"} {
		if !methods[want] {
			t.Errorf("there is no %s in:\n%s", want, r.stdout)
		}
	}
}

func TestAcpxKeepsASession(t *testing.T) {
	s := sitAtShell(t)
	t.Cleanup(func() { s.call(nil, "sessions", "close", "one") }) // ends what acpx leaves running for the next prompt
	s.acpx(0, "sessions", "new", "--name", "one")
	s.acpx(0, "--approve-all", "prompt", "-s", "one", "bash touch first.txt")
	if !s.has("first.txt") {
		t.Error("the first prompt did nothing")
	}
	s.acpx(0, "set-mode", "-s", "one", "plan")
	s.acpx(0, "--approve-all", "prompt", "-s", "one", `write {"path":"planned.txt","content":"x"}`)
	if s.has("planned.txt") {
		t.Error("a file was written in plan mode")
	}
	s.acpx(0, "set-mode", "-s", "one", "act")
	s.acpx(0, "--approve-all", "prompt", "-s", "one", "the third prompt")
	if r := s.acpx(0, "sessions", "history", "one"); !strings.Contains(r.stdout, "the third prompt") {
		t.Errorf("the history lacks a prompt: %v", r)
	}
	s.cancelOne()
	s.acpx(0, "sessions", "close", "one")
}

// cancelOne cancels a prompt of the session "one" when its command is about to run, or runs.
func (s *shell) cancelOne() {
	s.t.Helper()
	asked := &sighting{text: "session/request_permission", seen: make(chan struct{})}
	ended := make(chan run, 1)
	go func() { ended <- s.call(asked, "--approve-all", "prompt", "-s", "one", "bash sleep 100") }()
	select {
	case <-asked.seen:
		s.acpx(0, "cancel", "-s", "one")
	case r := <-ended:
		s.t.Fatalf("ended before it was cancelled: %v", r)
	}
	if r := <-ended; r.status != 0 || !strings.Contains(r.stdout, "[done] cancelled") {
		s.t.Errorf("the prompt that was cancelled: %v", r)
	}
}
