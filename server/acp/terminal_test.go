package acp_test

import (
	"fmt"
	"strings"
	"testing"

	"nimlet/internal/acptest"
)

// terminal joins what a client that draws terminals was told of them.
func terminal(updates []acptest.Update) (info, data, exit string) {
	for _, u := range updates {
		meta, _ := u.Body["_meta"].(map[string]any)
		if m, ok := meta["terminal_info"].(map[string]any); ok {
			info = fmt.Sprint(m["terminal_id"])
		}
		if m, ok := meta["terminal_output"].(map[string]any); ok {
			data += fmt.Sprint(m["data"])
		}
		if m, ok := meta["terminal_exit"].(map[string]any); ok {
			exit = fmt.Sprint(m["exit_code"])
		}
	}
	return info, data, exit
}

func TestACommandIsDrawnAsATerminalWhereTheClientHasOne(t *testing.T) {
	d := sit(t, yolo)
	d.Initialize(`{"_meta":{"terminal_output":true}}`)
	id := d.New(d.dir)
	updates := d.Say(id, "bash echo one; echo two >&2; exit 3")
	info, data, exit := terminal(updates)
	if info == "" || !strings.Contains(data, "one") || !strings.Contains(data, "two") || exit != "3" {
		t.Errorf("terminal %q put out %q and ended with %q", info, data, exit)
	}
	for _, u := range updates {
		if u.Kind == "tool_call" && !strings.Contains(fmt.Sprint(u.Body["content"]), "terminalId:"+info) {
			t.Errorf("the card has no terminal: %v", u.Body)
		}
	}

	d.again(yolo)
	d.Initialize(`{"_meta":{"terminal_output":true}}`)
	d.Load(id, d.dir)
	if _, data, exit := terminal(d.Updates(id)); !strings.Contains(data, "one") || exit != "3" {
		t.Errorf("replayed, the terminal put out %q and ended with %q", data, exit)
	}
}

func TestACommandThatDidNotRunSaysWhyOnItsCard(t *testing.T) {
	d := sit(t, nil)
	d.Initialize(`{"_meta":{"terminal_output":true}}`)
	id := d.New(d.dir)
	d.On("session/request_permission", acptest.Choose("reject_once"))
	d.Say(id, "bash echo hi")
	u := d.Await(acptest.Status("failed"))
	if text := fmt.Sprint(u.Body["content"]); !strings.Contains(text, "approval_denied") {
		t.Errorf("the card shows %s", text)
	}
}

func TestOutputIsShownWhileTheCommandRuns(t *testing.T) {
	d := sit(t, yolo)
	d.Initialize(`{}`)
	id := d.New(d.dir)
	turn := d.Prompt(id, "bash echo early; sleep 30")
	d.Await(func(u acptest.Update) bool {
		return u.String("status") == "in_progress" && strings.Contains(fmt.Sprint(u.Body["content"]), "early")
	})
	d.Cancel(id)
	turn.Wait("cancelled")
	if u := d.Await(acptest.Status("failed")); !strings.Contains(fmt.Sprint(u.Body["content"]), "early") {
		t.Errorf("what the command had put out is gone: %v", u.Body)
	}
}
