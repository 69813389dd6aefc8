package acp_test

import (
	"fmt"
	"strings"
	"testing"

	"nimlet/internal/acptest"
)

// Clients send what they like when they like: a reload of the window closes and loads, a person
// sends and cancels meanwhile. Whatever the order, each request is answered, for a reason that a
// person can understand, and the session goes on.
func TestOpeningClosingAndPromptingAtOnceIsAnsweredInOrder(t *testing.T) {
	d, id := ready(t, `{}`, yolo)
	d.Say(id, "hello")
	open := map[string]any{"sessionId": id, "cwd": d.dir, "mcpServers": []any{}}
	var calls []*acptest.Call
	for i := range 40 {
		for _, method := range []string{"session/load", "session/close", "session/resume", "session/load", "session/close", "session/resume"} {
			calls = append(calls, d.Go(method, open))
			if i%3 == 0 {
				calls = append(calls, d.Prompt(id, fmt.Sprintf("prompt %d", i)))
			}
		}
		d.Cancel(id)
		calls = append(calls, d.Go("session/set_mode", map[string]any{"sessionId": id, "modeId": "act"}))
	}
	for _, call := range calls {
		_, err := call.Answer()
		if err == nil {
			continue
		}
		known := err.Code == -32002 || strings.Contains(err.Message, "closed") || strings.Contains(err.Message, "queue full")
		if !known {
			t.Errorf("answered with %v", err)
		}
	}
	d.Load(id, d.dir)
	d.Say(id, "still here")
}

func TestManySessionsWorkSideBySide(t *testing.T) {
	d := sit(t, yolo)
	d.Initialize(`{}`)
	d.write("a.txt", "alpha\n")
	type turn struct {
		id   string
		call *acptest.Call
	}
	var turns []turn
	for i := range 12 {
		id := d.New(d.dir)
		turns = append(turns, turn{id, d.Prompt(id, fmt.Sprintf("read a.txt\nbash echo session-%d\n%s", i, strings.Repeat(fmt.Sprintf("words-%d ", i), 500)))})
	}
	for i, turn := range turns {
		turn.call.Wait("end_turn")
		text := acptest.Text(d.Updates(turn.id), "agent_message_chunk")
		if n := strings.Count(text, fmt.Sprintf("words-%d ", i)); n != 500 || strings.Count(text, "words-") != 500 {
			t.Errorf("session %d says %d of its own words and %d in all", i, n, strings.Count(text, "words-"))
		}
		mustAllClose(t, d.Updates(turn.id))
	}
}
