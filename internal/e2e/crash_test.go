package e2e_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"nimlet/internal/acptest"
)

// mustBeWhole checks that each call of a stored conversation has one result, after it.
func mustBeWhole(t *testing.T, history string) {
	t.Helper()
	open := map[string]bool{}
	for line := range strings.Lines(history) {
		var e struct {
			Type    string
			ID      string `json:"id"`
			Content []struct{ Type, ID string }
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("a stored line is no event: %v: %q", err, line)
		}
		for _, p := range e.Content {
			if e.Type == "assistant" && p.Type == "tool_use" {
				open[p.ID] = true
			}
		}
		if e.Type == "tool_result" {
			if !open[e.ID] {
				t.Errorf("a result of %q without its call", e.ID)
			}
			delete(open, e.ID)
		}
	}
	if len(open) > 0 {
		t.Errorf("calls without a result: %v", open)
	}
}

// mustShowAgain checks that what a client had been shown is replayed, under the same ids.
func mustShowAgain(t *testing.T, before, after []acptest.Update) {
	t.Helper()
	replayed := said(after)
	for id, text := range said(before) {
		if strings.HasPrefix(id, "notice") {
			continue
		}
		if !strings.HasPrefix(replayed[id], text) {
			t.Errorf("message %s had been shown with %d bytes and came back with %d: …%.60q, …%.60q", id, len(text), len(replayed[id]),
				text[max(0, len(text)-60):], replayed[id][max(0, len(replayed[id])-60):])
		}
	}
	cards := map[string]bool{}
	for _, u := range after {
		cards[u.String("toolCallId")] = true
	}
	for _, u := range before {
		if id := u.String("toolCallId"); !cards[id] {
			t.Errorf("call %s had been shown and did not come back", id)
		}
	}
}

func TestNothingThatWasShownIsLostWhenTheProcessIsKilled(t *testing.T) {
	long := strings.Repeat("every word of this is shown 日本語 ", 800)
	for name, c := range map[string]struct {
		prompt string
		most   int // updates that are waited for
	}{
		"while text streams":     {long, 8},
		"while a command runs":   {"bash echo begun; sleep 30", 4},
		"while calls are made":   {strings.Repeat("read a.txt\nbash echo hi\n", 4), 20},
		"as a conversation goes": {"a short one", 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := sit(t, "--yolo")
			d.write("a.txt", "alpha\n")
			id := d.New(d.dir)
			d.Say(id, "hello")
			for range 50 {
				start := len(d.Updates(id))
				turn := d.Prompt(id, c.prompt)
				d.AwaitUpdates(id, start+1+rand.IntN(c.most), turn)
				d.kill()
				before := d.Updates(id)
				d.start()
				d.Initialize(`{}`)
				d.Load(id, d.dir)
				mustShowAgain(t, before, d.Updates(id))
				if t.Failed() {
					return
				}
			}
			d.Say(id, "what did I say first?")
			mustBeWhole(t, d.history(id))
		})
	}
}

func TestAPromptThatWasAnsweredIsThereAfterAKill(t *testing.T) {
	d := sit(t)
	id := d.New(d.dir)
	for i := range 10 {
		d.Say(id, fmt.Sprintf("message %d", i))
		d.kill()
		d.start()
		d.Initialize(`{}`)
		d.Load(id, d.dir)
		if text := acptest.Text(d.Updates(id), "user_message_chunk"); !strings.HasSuffix(text, fmt.Sprintf("message %d", i)) {
			t.Fatalf("after message %d the session holds %q", i, text)
		}
	}
}
