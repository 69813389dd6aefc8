package acp_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"nimlet/internal/acptest"
	"nimlet/server"
)

// A permit is one session/request_permission as it came.
type permit struct {
	SessionID string
	ToolCall  struct {
		ToolCallID, Title, Name, Kind, Status string
		RawInput                              map[string]any
		Content                               []map[string]any
	}
	Options []struct{ OptionID, Name, Kind string }
}

func (p permit) ids() string {
	var ids []string
	for _, o := range p.Options {
		ids = append(ids, o.OptionID)
	}
	return strings.Join(ids, " ")
}

// permits records what was asked.
type permits struct {
	mu   sync.Mutex
	list []permit
}

func (p *permits) all() []permit {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.list)
}

func (p *permits) count() int { return len(p.all()) }

func (p *permits) last(t *testing.T) permit {
	t.Helper()
	all := p.all()
	if len(all) == 0 {
		t.Fatal("nothing was asked")
	}
	return all[len(all)-1]
}

// answers has permission requests answered by these answers, the last of them again and again.
func (d *desk) answers(list ...*acptest.Answer) *permits {
	p := &permits{}
	d.On("session/request_permission", func(params jsonRaw) *acptest.Answer {
		var r permit
		if err := json.Unmarshal(params, &r); err != nil {
			d.t.Errorf("a permission request: %v", err)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.list = append(p.list, r)
		return list[min(len(p.list), len(list))-1]
	})
	return p
}

func chose(optionID string) *acptest.Answer { return acptest.Choose(optionID)(nil) }

func dismissed() *acptest.Answer {
	return &acptest.Answer{Result: map[string]any{"outcome": map[string]any{"outcome": "cancelled"}}}
}

func refusal(code int, message string) *acptest.Answer {
	return &acptest.Answer{Err: &acptest.RPCError{Code: code, Message: message}}
}

func (d *desk) exists(name string) bool {
	_, err := os.Stat(filepath.Join(d.dir, name))
	return err == nil
}

// ready is a desk with a session whose editor has these capabilities.
func ready(t *testing.T, capabilities string, change func(*server.Options)) (d *desk, id string) {
	t.Helper()
	d = sit(t, change)
	d.Initialize(capabilities)
	return d, d.New(d.dir)
}

// closing returns the last update of each tool call, by the order in which the calls came.
func closing(updates []acptest.Update) []acptest.Update {
	var order []string
	last := map[string]acptest.Update{}
	for _, u := range updates {
		id := u.String("toolCallId")
		if id == "" {
			continue
		}
		if _, known := last[id]; !known {
			order = append(order, id)
		}
		last[id] = u
	}
	list := make([]acptest.Update, len(order))
	for i, id := range order {
		list[i] = last[id]
	}
	return list
}

// shown is the text of a tool call's content.
func shown(u acptest.Update) string {
	var b strings.Builder
	list, _ := u.Body["content"].([]any)
	for _, item := range list {
		c, _ := item.(map[string]any)
		inner, _ := c["content"].(map[string]any)
		text, _ := inner["text"].(string)
		b.WriteString(text)
	}
	return b.String()
}

// mustClose checks how the only call of a turn ended and returns what it showed.
func mustClose(t *testing.T, updates []acptest.Update, status string) string {
	t.Helper()
	calls := closing(updates)
	if len(calls) != 1 {
		t.Fatalf("%d calls, want one", len(calls))
	}
	if got := calls[0].String("status"); got != status {
		t.Errorf("the call ended %s, want %s: %v", got, status, calls[0].Body)
	}
	return shown(calls[0])
}

func TestPermissionOffersItsOptionsInOrderAndNamesTheirScope(t *testing.T) {
	d, id := ready(t, `{}`, nil)
	asked := d.answers(chose("reject_once"))
	d.Say(id, "bash touch made")
	want := []string{
		"allow_once|Allow once|allow_once",
		"allow_session|Allow `touch made` for this session|allow_always",
		"allow_project|Always allow `touch made` in this project|allow_always",
		"reject_once|Reject|reject_once",
	}
	var got []string
	for _, o := range asked.last(t).Options {
		got = append(got, o.OptionID+"|"+o.Name+"|"+o.Kind)
	}
	if !slices.Equal(got, want) {
		t.Errorf("offered %q, want %q", got, want)
	}
	if r := asked.last(t); r.SessionID != id {
		t.Errorf("asked about session %q, want %q", r.SessionID, id)
	}
}

func TestWhateverIsNoClearYesRejectsTheCallAndTheTurnGoesOn(t *testing.T) {
	for name, answer := range map[string]*acptest.Answer{
		"dismissed":        dismissed(),
		"an error":         refusal(-32603, "the picker broke"),
		"cancelled error":  refusal(-32800, "request cancelled"),
		"unknown option":   chose("allow_everything"),
		"empty result":     {Result: map[string]any{}},
		"result of null":   {},
		"a foreign shape":  {Result: []any{1, 2}},
		"unknown outcome":  {Result: map[string]any{"outcome": map[string]any{"outcome": "postponed", "optionId": "allow_once"}}},
		"outcome a string": {Result: map[string]any{"outcome": "selected"}},
	} {
		t.Run(name, func(t *testing.T) {
			d, id := ready(t, `{}`, nil)
			d.answers(answer)
			text := mustClose(t, d.Say(id, "bash touch made"), "failed")
			if !strings.HasPrefix(text, "approval_denied") || d.exists("made") {
				t.Errorf("shown %q, ran %t", text, d.exists("made"))
			}
			d.answers(chose("allow_once"))
			mustClose(t, d.Say(id, "bash touch made"), "completed")
		})
	}
}

func TestAClientThatCannotAskIsAskedOnceAndThePersonTold(t *testing.T) {
	d, id := ready(t, `{"session":{"notices":{}}}`, nil)
	asked := d.answers(refusal(-32601, "method not found"))
	first := d.Say(id, "bash touch made")
	text := mustClose(t, first, "failed")
	if !strings.HasPrefix(text, "approval_denied") || !strings.Contains(text, "client cannot ask") {
		t.Errorf("the model is told %q", text)
	}
	notices := func(updates []acptest.Update) (n int) {
		for _, u := range updates {
			if u.Kind == "notice" {
				n++
			}
		}
		return n
	}
	if n := notices(first); n != 1 {
		t.Errorf("%d notices, want 1", n)
	}
	second := d.Say(id, "bash touch made")
	third := d.Say(d.New(d.dir), "bash touch made")
	mustClose(t, second, "failed")
	mustClose(t, third, "failed")
	if n := asked.count(); n != 1 || notices(second) != 0 {
		t.Errorf("asked %d times, want 1; told again %d times", n, notices(second))
	}
}

func TestTheEditorGoingAwayWhileAskingRejects(t *testing.T) {
	d, id := ready(t, `{}`, nil)
	asked := make(chan struct{})
	d.On("session/request_permission", func(jsonRaw) *acptest.Answer {
		close(asked)
		return nil
	})
	d.Prompt(id, "bash touch made")
	<-asked
	d.leave()
	if d.exists("made") {
		t.Error("the command ran")
	}
	d.start(nil)
	d.Initialize(`{}`)
	d.Load(id, d.dir)
	calls := closing(d.Updates(id))
	if len(calls) != 1 || calls[0].String("status") != "failed" {
		t.Errorf("replayed as %v", calls)
	}
	d.Say(id, "hello")
}

func TestACardWithATitleIsPendingBeforePermissionIsAsked(t *testing.T) {
	d, id := ready(t, `{}`, nil)
	d.write("AGENTS.md", "old\n")
	d.On("session/request_permission", func(params jsonRaw) *acptest.Answer {
		var r permit
		if err := json.Unmarshal(params, &r); err != nil {
			t.Error(err)
		}
		updates := closing(d.Updates(id))
		last := updates[len(updates)-1]
		if last.String("toolCallId") != r.ToolCall.ToolCallID || last.Kind != "tool_call" || last.String("status") != "pending" || last.String("title") == "" {
			t.Errorf("before the request came %v", last.Body)
		}
		if r.ToolCall.Title == "" || r.ToolCall.Status != "pending" {
			t.Errorf("the request shows %+v", r.ToolCall)
		}
		return dismissed()
	})
	d.Say(id, "bash touch made")
	d.Say(id, `edit {"path": "AGENTS.md", "old_text": "old", "new_text": "new"}`)
}

func TestPermissionShowsTheFinalArguments(t *testing.T) {
	d, id := ready(t, `{}`, nil)
	d.write("AGENTS.md", "old\n")
	asked := d.answers(dismissed())
	d.Say(id, `edit {"path": "AGENTS.md", "old_text": "old", "new_text": "new"}`)
	card := asked.last(t).ToolCall
	if card.RawInput["new_text"] != "new" || card.Kind != "edit" || card.Name != "edit" {
		t.Errorf("shown %+v", card)
	}
	if len(card.Content) == 0 || card.Content[0]["type"] != "diff" || card.Content[0]["oldText"] != "old\n" || card.Content[0]["newText"] != "new\n" {
		t.Errorf("the change is shown as %v", card.Content)
	}
	d.Say(id, "bash rm -rf build")
	if text := fmt.Sprint(asked.last(t).ToolCall.Content); !strings.Contains(text, "rm -rf build") {
		t.Errorf("the command is shown as %s", text)
	}
}

func TestQuestionsAreAskedOneAtATime(t *testing.T) {
	d, a := ready(t, `{}`, nil)
	var mu sync.Mutex
	open, most := 0, 0
	d.On("session/request_permission", func(jsonRaw) *acptest.Answer {
		mu.Lock()
		open++
		most = max(most, open)
		mu.Unlock()
		d.Call("session/list", map[string]any{}, nil) // time for another to come
		mu.Lock()
		open--
		mu.Unlock()
		return chose("allow_once")
	})
	updates := d.Say(a, "bash touch one\nbash touch two\nbash touch three")
	if most != 1 || !d.exists("one") || !d.exists("three") {
		t.Errorf("%d questions at once", most)
	}
	if n := len(closing(updates)); n != 3 {
		t.Errorf("%d calls", n)
	}
}
