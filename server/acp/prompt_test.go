package acp_test

import (
	"strings"
	"testing"

	"nimlet/internal/acptest"
)

func TestAPromptIsAnsweredAndItsUpdatesComeFirst(t *testing.T) {
	d := sit(t, nil)
	d.Initialize(`{}`)
	id := d.New(d.dir)
	updates := d.Say(id, "hello there")
	if text := acptest.Text(updates, "agent_message_chunk"); !strings.Contains(text, "hello there") {
		t.Errorf("the answer is %q", text)
	}
}

func TestAToolCallIsShownFromPendingToCompleted(t *testing.T) {
	d := sit(t, nil)
	d.write("a.txt", "alpha\nbeta\n")
	d.Initialize(`{}`)
	id := d.New(d.dir)
	var statuses []string
	for _, u := range d.Say(id, "read a.txt") {
		if strings.HasPrefix(u.Kind, "tool_call") {
			statuses = append(statuses, u.String("status"))
		}
	}
	if got := strings.Join(statuses, " "); got != "pending in_progress completed" {
		t.Errorf("statuses %q", got)
	}
}
