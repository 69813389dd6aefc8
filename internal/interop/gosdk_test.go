package interop

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/coder/acp-go-sdk"
)

// An elder is a client on the Go SDK, whose schema is older than ours: it does not know all that is
// sent, has no notices and no forms, and closes the connection when too much is sent at once.
type elder struct {
	sdk.Client // what is not offered is not asked

	mu      sync.Mutex
	changed *sync.Cond // on mu
	updates []sdk.SessionUpdate
	answer  string // the option that is chosen; "" dismisses
	asked   int
}

func (e *elder) SessionUpdate(_ context.Context, n sdk.SessionNotification) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.updates = append(e.updates, n.Update)
	e.changed.Broadcast()
	return nil
}

func (e *elder) RequestPermission(context.Context, sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked++
	if e.answer == "" {
		return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeCancelled()}, nil
	}
	return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeSelected(sdk.PermissionOptionId(e.answer))}, nil
}

func (e *elder) answers(option string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answer = option
}

// statuses lists those that calls have reached, in order; text is what the agent said.
func (e *elder) seen() (statuses []string, text string, count int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.seenLocked()
}

func (e *elder) seenLocked() (statuses []string, text string, count int) {
	for _, u := range e.updates {
		switch {
		case u.ToolCall != nil:
			statuses = append(statuses, string(u.ToolCall.Status))
		case u.ToolCallUpdate != nil && u.ToolCallUpdate.Status != nil:
			statuses = append(statuses, string(*u.ToolCallUpdate.Status))
		case u.AgentMessageChunk != nil && u.AgentMessageChunk.Content.Text != nil:
			text += u.AgentMessageChunk.Content.Text.Text
		}
	}
	return statuses, text, len(e.updates)
}

// A line is the elder's connection to an agent of its own.
type line struct {
	*sdk.ClientSideConnection
	*elder
	t   *testing.T
	ctx context.Context
	dir string
}

// dial starts the agent and initializes. The agent must end well when the test is over.
func (d *desk) dial() *line {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	c := exec.CommandContext(ctx, d.agent[0], d.agent[1:]...)
	c.Dir, c.Env, c.WaitDelay = d.workspace, d.environ(), 5*time.Second
	in, err := c.StdinPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	out, agentOut := io.Pipe()
	c.Stdout = agentOut // a pipe of ours, so that Wait is over when all was read
	if err := c.Start(); err != nil {
		d.t.Fatal(err)
	}
	e := &elder{}
	e.changed = sync.NewCond(&e.mu)
	l := &line{sdk.NewClientSideConnection(e, in, out), e, d.t, ctx, d.workspace}
	l.SetLogger(slog.New(slog.DiscardHandler))
	d.t.Cleanup(func() {
		defer cancel()
		_ = in.Close()
		go func() { // one that gave up reads no more, and would hold up the agent's end
			<-l.Done()
			_, _ = io.Copy(io.Discard, out)
		}()
		if err := c.Wait(); err != nil {
			d.t.Errorf("the agent ended with %v", err)
		}
		_ = agentOut.Close()
		<-l.Done()
	})
	about, err := l.Initialize(ctx, sdk.InitializeRequest{ProtocolVersion: sdk.ProtocolVersionNumber})
	if err != nil {
		d.t.Fatal(err)
	}
	if about.ProtocolVersion != sdk.ProtocolVersionNumber || !about.AgentCapabilities.LoadSession {
		d.t.Errorf("initialize: %+v", about)
	}
	return l
}

// awaitStatus waits until a call has reached a status.
func (l *line) awaitStatus(want string) {
	l.t.Helper()
	defer context.AfterFunc(l.ctx, l.changed.Broadcast)()
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.ctx.Err() == nil {
		if statuses, _, _ := l.seenLocked(); slices.Contains(statuses, want) {
			return
		}
		l.changed.Wait()
	}
	l.t.Fatalf("no call became %s", want)
}

func (l *line) open() sdk.SessionId {
	l.t.Helper()
	r, err := l.NewSession(l.ctx, sdk.NewSessionRequest{Cwd: l.dir, McpServers: []sdk.McpServer{}})
	if err != nil {
		l.t.Fatal(err)
	}
	return r.SessionId
}

func (l *line) say(id sdk.SessionId, text string, want sdk.StopReason) {
	l.t.Helper()
	r, err := l.Prompt(l.ctx, sdk.PromptRequest{SessionId: id, Prompt: []sdk.ContentBlock{sdk.TextBlock(text)}})
	if err != nil || r.StopReason != want {
		l.t.Fatalf("%.80s: answered %+v, %v; want %s", text, r, err, want)
	}
}

func TestGoSDKPromptsAndIsAsked(t *testing.T) {
	d := sit(t)
	l := d.dial()
	id := l.open()
	for _, test := range []struct{ option, status string }{
		{"allow_once", "completed"}, {"reject_once", "failed"}, {"", "failed"}, {"allow_session", "completed"},
	} {
		l.answers(test.option)
		l.say(id, "bash touch made.txt", sdk.StopReasonEndTurn)
		if statuses, _, _ := l.seen(); statuses[len(statuses)-1] != test.status {
			t.Errorf("%q left the call %q", test.option, statuses)
		}
	}
	l.answers("")
	l.say(id, "bash touch made.txt", sdk.StopReasonEndTurn)
	if l.asked != 4 || !d.has("made.txt") {
		t.Errorf("asked %d times; made.txt: %v", l.asked, d.has("made.txt"))
	}
	l.say(id, "read a.txt", sdk.StopReasonEndTurn)
	if _, text, _ := l.seen(); !strings.Contains(text, "beta") {
		t.Errorf("said %q", text)
	}
	if _, err := l.SetSessionMode(l.ctx, sdk.SetSessionModeRequest{SessionId: id, ModeId: "plan"}); err != nil {
		t.Error(err)
	}
}

func TestGoSDKCancels(t *testing.T) {
	l := sit(t, "--yolo").dial()
	id := l.open()
	stopped := make(chan sdk.StopReason, 1)
	go func() {
		r, err := l.Prompt(l.ctx, sdk.PromptRequest{SessionId: id, Prompt: []sdk.ContentBlock{sdk.TextBlock("bash sleep 100")}})
		if err != nil {
			t.Error(err)
		}
		stopped <- r.StopReason
	}()
	l.awaitStatus("in_progress")
	if err := l.Cancel(l.ctx, sdk.CancelNotification{SessionId: id}); err != nil {
		t.Fatal(err)
	}
	if reason := <-stopped; reason != sdk.StopReasonCancelled {
		t.Errorf("stopped with %q", reason)
	}
	l.say(id, "and on it goes", sdk.StopReasonEndTurn)
}

// A replay is the most that is ever sent at once; this client gives up on 1,024 updates that wait.
func TestGoSDKTakesALongReplay(t *testing.T) {
	d := sit(t)
	var id sdk.SessionId
	turns, calls := 50, 20 // each call is shown and closed: 2,000 updates and more
	if slowed {
		turns = 20 // more than this client takes in when the race detector slows it
	}
	t.Run("talk", func(t *testing.T) {
		d := *d
		d.t = t
		l := d.dial()
		id = l.open()
		for i := range turns {
			l.say(id, strings.Repeat("read a.txt\n", calls)+fmt.Sprint("turn ", i), sdk.StopReasonEndTurn)
		}
	})
	l := d.dial()
	if _, err := l.LoadSession(l.ctx, sdk.LoadSessionRequest{SessionId: id, Cwd: d.workspace, McpServers: []sdk.McpServer{}}); err != nil {
		t.Fatal(err)
	}
	l.say(id, "the connection still stands", sdk.StopReasonEndTurn)
	statuses, text, count := l.seen()
	if count < 2*turns*calls || len(statuses) != 2*turns*calls {
		t.Errorf("%d updates, %d of them of calls", count, len(statuses))
	}
	if !strings.Contains(text, fmt.Sprint("turn ", turns-1)) {
		t.Error("the last turn was not shown")
	}
}
