package acp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"nimlet/internal/acptest"
)

// holdPermission has permission requests wait: open tells that one came, and what is sent to answer
// answers it.
func (d *desk) holdPermission() (open chan permit, answer chan *acptest.Answer) {
	open, answer = make(chan permit, 10), make(chan *acptest.Answer)
	d.On("session/request_permission", func(params jsonRaw) *acptest.Answer {
		var p permit
		if err := json.Unmarshal(params, &p); err != nil {
			d.t.Error(err)
		}
		open <- p
		return <-answer
	})
	return open, answer
}

func TestAnAnswerThatComesAfterTheCancelAllowsNothing(t *testing.T) {
	d, id := ready(t, `{}`, nil)
	open, answer := d.holdPermission()
	turn := d.Prompt(id, "bash touch made")
	<-open
	d.Cancel(id)
	turn.Wait("cancelled")
	answer <- chose("allow_session")
	d.Say(id, "hello")
	asked := d.answers(chose("reject_once"))
	d.Say(id, "bash touch made")
	if d.exists("made") || asked.count() != 1 {
		t.Errorf("ran: %t, asked %d times", d.exists("made"), asked.count())
	}
}

func TestCloseAndDeleteEndATurnThatAsks(t *testing.T) {
	for _, method := range []string{"session/close", "session/delete"} {
		t.Run(method, func(t *testing.T) {
			d, id := ready(t, `{}`, nil)
			d.Say(id, "hello")
			open, answer := d.holdPermission()
			turn := d.Prompt(id, "bash touch made")
			<-open
			d.Call(method, map[string]any{"sessionId": id}, nil)
			turn.Wait("cancelled")
			close(answer)
			mustClose(t, d.Updates(id), "failed")
			if notes := strings.Join(d.Notes(), "\n"); strings.Count(notes, "$/cancel_request") != 1 {
				t.Errorf("the question was withdrawn as %q", notes)
			}
			stored, err := filepath.Glob(filepath.Join(d.home.SessionsDir(), id+".*"))
			if want := method == "session/close"; err != nil || (len(stored) > 0) != want {
				t.Errorf("left in the folder of sessions: %q (%v)", stored, err)
			}
			if err := d.Fail("session/prompt", map[string]any{"sessionId": id, "prompt": []any{block("type", "text", "text", "x")}}); err.Code != -32002 {
				t.Errorf("a prompt afterwards is answered %v", err)
			}
		})
	}
}

func TestALoadInTheMiddleOfAQuestionLeavesItOpen(t *testing.T) {
	d, id := ready(t, `{}`, nil)
	open, answer := d.holdPermission()
	turn := d.Prompt(id, "bash touch made")
	asked := <-open
	start := len(d.Updates(id))
	d.Load(id, d.dir)
	calls := closing(d.Updates(id)[start:])
	if len(calls) != 1 || calls[0].String("toolCallId") != asked.ToolCall.ToolCallID || calls[0].String("status") != "pending" {
		t.Errorf("the open call is replayed as %v", calls)
	}
	answer <- chose("allow_once")
	turn.Wait("end_turn")
	if !d.exists("made") {
		t.Error("the command did not run")
	}
}

func TestEmptyTextIsAnswered(t *testing.T) {
	d, id := ready(t, `{}`, nil)
	for _, text := range []string{"", " ", "\n", "/", "//", "/ help", "\x00", "\ufeff/help"} {
		updates := d.Say(id, text)
		if acptest.Text(updates, "agent_message_chunk") == "" {
			t.Errorf("%q is answered with nothing", text)
		}
	}
}

func TestAWorkspaceThatVanishesIsSaidAndEndsNothing(t *testing.T) {
	d := sit(t, yolo)
	d.Initialize(`{}`)
	dir := filepath.Join(d.dir, "sub")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	id := d.New(dir)
	d.Say(id, "hello")
	if err := os.Remove(dir); err != nil && runtime.GOOS != "windows" { // which keeps a folder in use
		t.Fatal(err)
	}
	updates := d.Say(id, "bash pwd\nread a.txt\nglob *\ngrep x\nwrite {\"path\": \"b.txt\", \"content\": \"x\"}\ngit status")
	mustAllClose(t, updates)
	d.Say(id, "still here")
}
