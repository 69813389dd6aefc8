package acp_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"nimlet/internal/acptest"
)

// mustAllClose checks that each call of these updates was shown pending first and is closed.
func mustAllClose(t *testing.T, updates []acptest.Update) {
	t.Helper()
	first := map[string]bool{}
	for _, u := range updates {
		id := u.String("toolCallId")
		if id == "" {
			continue
		}
		if !first[id] && (u.Kind != "tool_call" || u.String("status") != "pending") {
			t.Errorf("call %s begins with %v", id, u.Body)
		}
		first[id] = true
	}
	for _, u := range closing(updates) {
		if s := u.String("status"); s != "completed" && s != "failed" {
			t.Errorf("call %s was left %v", u.String("toolCallId"), u.Body)
		}
	}
}

// answered returns the updates of a session that had come when the call was answered.
func (d *desk) answered(id string, start int, turn *acptest.Call) []acptest.Update {
	d.t.Helper()
	if _, err := turn.Answer(); err != nil {
		d.t.Fatalf("the turn failed: %v", err)
	}
	return d.Updates(id)[start:turn.Seen(id)]
}

func TestEveryCallIsClosedBeforeItsTurnIsAnswered(t *testing.T) {
	d, id := ready(t, `{}`, nil)
	d.write("a.txt", "alpha\n")
	d.answers(chose("reject_once"))
	for name, text := range map[string]string{
		"done":              "read a.txt",
		"failed":            "read missing.txt",
		"refused":           "bash touch made",
		"invalid":           `read {"file": "a.txt"}`,
		"no JSON":           `read {"path": `,
		"wrong type":        `read {"path": 7}`,
		"outside":           "read /etc/passwd",
		"an unasked answer": "ask_user what?",
		"all of it":         "read a.txt\nread missing.txt\nbash touch made\ngrep alpha\nread a.txt",
	} {
		t.Run(name, func(t *testing.T) {
			start := len(d.Updates(id))
			updates := d.answered(id, start, d.Prompt(id, text))
			if len(closing(updates)) == 0 {
				t.Fatal("no call was shown")
			}
			mustAllClose(t, updates)
		})
	}
}

func TestManyCallsSideBySideAreAllClosed(t *testing.T) {
	d, id := ready(t, `{}`, nil)
	d.write("a.txt", "alpha\n")
	updates := d.answered(id, len(d.Updates(id)), d.Prompt(id, strings.Repeat("read a.txt\ngrep alpha\nread missing.txt\n", 20)))
	if n := len(closing(updates)); n != 60 {
		t.Errorf("%d calls were shown, want 60", n)
	}
	mustAllClose(t, updates)
}

func TestACallRefusedInPlanModeIsClosed(t *testing.T) {
	d, id := ready(t, `{}`, nil)
	// The offline model does not call what it is not offered, so the mode changes under the call.
	d.On("session/request_permission", func(jsonRaw) *acptest.Answer {
		d.Call("session/set_mode", map[string]any{"sessionId": id, "modeId": "plan"}, nil)
		return chose("allow_once")
	})
	updates := d.answered(id, len(d.Updates(id)), d.Prompt(id, "bash touch one\nbash touch two"))
	mustAllClose(t, updates)
	calls := closing(updates)
	if len(calls) != 2 || calls[1].String("status") != "failed" || !strings.Contains(shown(calls[1]), "plan mode") || d.exists("two") {
		t.Errorf("ended as %v", calls)
	}
}

func TestCallsAreClosedWhereverATurnIsCancelled(t *testing.T) {
	d, id := ready(t, `{}`, nil)
	d.write("a.txt", "alpha\n")
	work := strings.Join([]string{
		"read a.txt", "grep alpha", `edit {"path": "a.txt", "old_text": "alpha", "new_text": "alpha"}`, "bash sleep 0.02; echo slept",
		"ask_user {\"question\": \"Really?\", \"options\": [\"yes\"]}", "read a.txt", "bash echo " + strings.Repeat("long ", 500), "some words",
	}, "\n")
	d.On("session/request_permission", func(params jsonRaw) *acptest.Answer {
		var p permit
		if err := json.Unmarshal(params, &p); err != nil {
			t.Error(err)
		}
		return chose(p.Options[0].OptionID)
	})
	whole := len(d.Say(id, work))
	for i := range 20 {
		at := rand.IntN(whole + 1)
		t.Run(fmt.Sprintf("%d after %d updates", i, at), func(t *testing.T) {
			start := len(d.Updates(id))
			turn := d.Prompt(id, work)
			d.AwaitUpdates(id, start+at, turn)
			d.Cancel(id)
			updates := d.answered(id, start, turn)
			mustAllClose(t, updates)
			d.Say(id, "go on")
			if late := d.Updates(id)[turn.Seen(id):]; len(late) > 0 {
				for _, u := range late {
					if strings.HasPrefix(u.Kind, "tool_call") {
						t.Errorf("after the answer came %v", u.Body)
					}
				}
			}
		})
	}
}

func TestACallThatACrashCutOffIsReplayedAsClosed(t *testing.T) {
	d, id := ready(t, `{}`, yolo)
	d.Prompt(id, "bash sleep 30")
	d.Await(acptest.Status("in_progress"))
	stored := d.storedSession(id)
	d.leave()
	d.restore(id, stored) // as the disk was when the process was killed
	d.start(nil)
	d.Initialize(`{}`)
	d.Load(id, d.dir)
	mustAllClose(t, d.Updates(id))
	calls := closing(d.Updates(id))
	if len(calls) != 1 || calls[0].String("status") != "failed" || !strings.Contains(shown(calls[0]), "outcome unknown") {
		t.Errorf("replayed as %v", calls)
	}
	d.Say(id, "hello")
}

func TestNoUpdateNamesASessionBeforeTheEditorKnowsIt(t *testing.T) {
	d := sit(t, nil)
	d.Initialize(`{}`)
	for range 20 {
		call := d.Go("session/new", map[string]any{"cwd": d.dir, "mcpServers": []any{}})
		raw, err := call.Answer()
		if err != nil {
			t.Fatal(err)
		}
		var r struct{ SessionID string }
		if err := json.Unmarshal(raw, &r); err != nil {
			t.Fatal(err)
		}
		if n := call.Seen(r.SessionID); n != 0 {
			t.Errorf("%d updates came before the answer", n)
		}
		d.Await(func(u acptest.Update) bool {
			return u.SessionID == r.SessionID && u.Kind == "available_commands_update"
		})
	}
}

func TestEveryCommandIsAdvertisedAndWorks(t *testing.T) {
	d, id := ready(t, `{}`, nil)
	u := d.Await(func(u acptest.Update) bool { return u.Kind == "available_commands_update" })
	list, _ := u.Body["availableCommands"].([]any)
	names := map[string]bool{}
	for _, item := range list {
		c := item.(map[string]any)
		name, _ := c["name"].(string)
		if strings.HasPrefix(name, "/") || names[name] || c["description"] == "" {
			t.Errorf("advertised %v", c)
		}
		names[name] = true
	}
	for _, want := range []string{"help", "plan", "act", "session", "new", "name", "permissions", "yolo", "trust"} {
		if !names[want] {
			t.Errorf("/%s is not advertised", want)
		}
	}
	if names["resume"] {
		t.Error("/resume is advertised although the editor has a list of its own")
	}
	for name := range names {
		if text := acptest.Text(d.Say(id, "/"+strings.ToUpper(name)), "agent_message_chunk"); text == "" || strings.Contains(text, "no command") {
			t.Errorf("/%s answers %q", name, text)
		}
	}
	if text := acptest.Text(d.Say(id, "/resume"), "agent_message_chunk"); !strings.Contains(text, "list") {
		t.Errorf("/resume answers %q", text)
	}
	if text := acptest.Text(d.Say(id, "/hepl"), "agent_message_chunk"); !strings.Contains(text, "/help") {
		t.Errorf("an unknown command answers %q", text)
	}
	if text := acptest.Text(d.Say(id, "/usr/bin/env is a path"), "agent_message_chunk"); !strings.Contains(text, "/usr/bin/env is a path") {
		t.Errorf("a path answers %q", text)
	}
}

func TestTheTitleIsToldWhenItChanges(t *testing.T) {
	d, id := ready(t, `{}`, nil)
	titles := func(updates []acptest.Update) string {
		var list []string
		for _, u := range updates {
			if u.Kind == "session_info_update" {
				list = append(list, u.String("title"))
			}
		}
		return strings.Join(list, "|")
	}
	if got := titles(d.Say(id, "mend the fence")); got != "mend the fence" {
		t.Errorf("after the first turn: %q", got)
	}
	if got := titles(d.Say(id, "and the gate")); got != "" {
		t.Errorf("after the second turn: %q", got)
	}
	if got := titles(d.Say(id, "/name Garden")); got != "Garden" {
		t.Errorf("after /name: %q", got)
	}
}

func TestUsageIsToldAfterEveryAnswerOfTheModel(t *testing.T) {
	d, id := ready(t, `{}`, nil)
	d.write("a.txt", "alpha\n")
	n := 0
	for _, u := range d.Say(id, "read a.txt") {
		if u.Kind != "usage_update" {
			continue
		}
		n++
		used, _ := u.Body["used"].(float64)
		size, _ := u.Body["size"].(float64)
		if used <= 0 || size < used {
			t.Errorf("told %v", u.Body)
		}
	}
	if n != 2 {
		t.Errorf("told %d times in a turn of two answers", n)
	}
}

func TestNoIdOfAThreadIsUsedTwiceAlsoAfterNew(t *testing.T) {
	d, id := ready(t, `{}`, yolo)
	d.write("a.txt", "alpha\n")
	seen := map[string]int{} // by id, the round it came in
	for round := range 3 {
		updates := append(d.Say(id, "read a.txt"), d.Say(id, "hello")...)
		for _, u := range updates {
			for _, field := range []string{"messageId", "toolCallId"} {
				name := u.String(field)
				if name == "" {
					continue
				}
				if before, ok := seen[name]; ok && before != round {
					t.Errorf("%s %s was used before /new", field, name)
				}
				seen[name] = round
			}
		}
		d.Say(id, "/new")
	}
}

func TestEachAnswerOfACommandIsAMessageOfItsOwn(t *testing.T) {
	d, id := ready(t, `{}`, nil)
	seen := map[string]string{}
	for _, text := range []string{"/help", "/session", "hello", "/help", "/session", "/new", "/help", "/session"} {
		for _, u := range d.Say(id, text) {
			name := u.String("messageId")
			if before, ok := seen[name]; ok && before != text && name != "" {
				t.Errorf("the answers of %s and %s are both message %s", before, text, name)
			}
			seen[name] = text
		}
	}
}
