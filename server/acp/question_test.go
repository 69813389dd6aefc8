package acp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"nimlet/internal/acptest"
)

const withForm = `{"elicitation":{"form":{}}}`

// A formRequest is one elicitation/create as it came.
type formRequest struct {
	SessionID, ToolCallID, Mode, Message string
	RequestedSchema                      struct {
		Properties map[string]struct {
			Type, Title string
			OneOf       []struct{ Const, Title string }
		}
		Required []string
	}
}

// forms has elicitations answered by answer, and returns the last that came.
func (d *desk) forms(answer *acptest.Answer) *atomic.Pointer[formRequest] {
	var last atomic.Pointer[formRequest]
	d.On("elicitation/create", func(params jsonRaw) *acptest.Answer {
		last.Store(decodeForm(d.t, params))
		return answer
	})
	return &last
}

func decodeForm(t testing.TB, params jsonRaw) *formRequest {
	var r formRequest
	if err := json.Unmarshal(params, &r); err != nil {
		t.Errorf("an elicitation: %v", err)
	}
	return &r
}

func accepted(content map[string]any) *acptest.Answer {
	return &acptest.Answer{Result: map[string]any{"action": "accept", "content": content}}
}

func acted(action string) *acptest.Answer {
	return &acptest.Answer{Result: map[string]any{"action": action}}
}

const whereTo = `ask_user {"question": "Where to?", "options": ["staging", "production", "staging"]}`

func TestAnAnswerToAFormReachesTheModel(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer *acptest.Answer
		status string
		want   string // in the result
	}{
		{"a choice", accepted(map[string]any{"choice": "1"}), "completed", "production"},
		{"the second of two equal labels", accepted(map[string]any{"choice": "2"}), "completed", "staging"},
		{"other words", accepted(map[string]any{"other": "the moon 🌕"}), "completed", "the moon 🌕"},
		{"other words beside a choice", accepted(map[string]any{"choice": "0", "other": "the moon"}), "completed", "the moon"},
		{"no content", acted("accept"), "failed", ""},
		{"empty content", accepted(map[string]any{}), "failed", ""},
		{"declined", acted("decline"), "failed", ""},
		{"cancelled", acted("cancel"), "failed", ""},
		{"an index out of range", accepted(map[string]any{"choice": "3"}), "failed", ""},
		{"a label in place of an index", accepted(map[string]any{"choice": "production"}), "failed", ""},
		{"a number", accepted(map[string]any{"choice": 1}), "failed", ""},
		{"content that is no object", &acptest.Answer{Result: map[string]any{"action": "accept", "content": "1"}}, "failed", ""},
		{"an unknown action", acted("perhaps"), "failed", ""},
		{"an error", refusal(-32603, "the form broke"), "failed", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, id := ready(t, withForm, nil)
			d.answers(chose("0")) // a question that was put is not put again as a chooser
			asked := d.forms(c.answer)
			text := mustClose(t, d.Say(id, whereTo), c.status)
			if !strings.Contains(text, c.want) {
				t.Errorf("the result is %q, want %q in it", text, c.want)
			}
			if c.status == "failed" && (strings.Contains(text, "staging") || strings.Contains(text, "production")) {
				t.Errorf("a question without an answer has the result %q", text)
			}
			r := asked.Load()
			choice := r.RequestedSchema.Properties["choice"]
			if r.SessionID != id || r.ToolCallID == "" || r.Mode != "form" || !strings.Contains(r.Message, "Where to?") || len(choice.OneOf) != 3 || choice.OneOf[1].Const != "1" || choice.OneOf[1].Title != "production" {
				t.Errorf("asked %+v", r)
			}
		})
	}
}

func TestAFormThatIsRefusedBecomesAChooserForGood(t *testing.T) {
	for _, code := range []int{-32601, -32602} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			d, id := ready(t, withForm, nil)
			var forms atomic.Int32
			d.On("elicitation/create", func(jsonRaw) *acptest.Answer {
				forms.Add(1)
				return refusal(code, "no forms here")
			})
			asked := d.answers(chose("1"))
			for range 2 {
				if text := mustClose(t, d.Say(id, whereTo), "completed"); !strings.Contains(text, "production") {
					t.Errorf("the result is %q", text)
				}
			}
			if forms.Load() != 1 || asked.count() != 2 {
				t.Errorf("%d forms and %d choosers, want 1 and 2", forms.Load(), asked.count())
			}
		})
	}
}

func TestAnAnswerToAChooserReachesTheModel(t *testing.T) {
	for _, c := range []struct {
		name         string
		answer       *acptest.Answer
		status, want string
	}{
		{"a choice", chose("1"), "completed", "production"},
		{"the second of two equal labels", chose("2"), "completed", "staging"},
		{"the cancel option", chose("__cancel"), "failed", ""},
		{"dismissed", dismissed(), "failed", ""},
		{"an unknown id", chose("7"), "failed", ""},
		{"a permission's id", chose("allow_once"), "failed", ""},
		{"an error", refusal(-32603, "the picker broke"), "failed", ""},
		{"a client that cannot ask", refusal(-32601, "method not found"), "failed", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, id := ready(t, `{}`, nil)
			asked := d.answers(c.answer)
			text := mustClose(t, d.Say(id, whereTo), c.status)
			if !strings.Contains(text, c.want) || c.status == "failed" && strings.Contains(text, "production") {
				t.Errorf("the result is %q, want %q in it", text, c.want)
			}
			r := asked.last(t)
			if ids := r.ids(); ids != "0 1 2 __cancel" {
				t.Errorf("offered %q", ids)
			}
			for i, o := range r.Options {
				if want := map[bool]string{true: "allow_once", false: "reject_once"}[i < 3]; o.Kind != want {
					t.Errorf("option %q is %s, which a client might remember", o.Name, o.Kind)
				}
			}
			if r.ToolCall.Status != "pending" || r.ToolCall.Title != "Where to?" {
				t.Errorf("the card shows %+v", r.ToolCall)
			}
		})
	}
}

func TestALongChooserIsPagedAndComesRound(t *testing.T) {
	var labels []string
	for i := range 19 {
		labels = append(labels, fmt.Sprintf("option %d", i))
	}
	call, err := json.Marshal(map[string]any{"question": "Which?", "options": labels})
	if err != nil {
		t.Fatal(err)
	}
	d, id := ready(t, `{}`, nil)
	asked := d.answers(chose("__more"), chose("__more"), chose("__more"), chose("__more"), chose("9"))
	if text := mustClose(t, d.Say(id, "ask_user "+string(call)), "completed"); !strings.Contains(text, "option 9") {
		t.Errorf("the result is %q", text)
	}
	want := []string{
		"0 1 2 3 4 5 6 7 __more __cancel", "8 9 10 11 12 13 14 15 __more __cancel", "16 17 18 __more __cancel",
		"0 1 2 3 4 5 6 7 __more __cancel", "8 9 10 11 12 13 14 15 __more __cancel",
	}
	for i, r := range asked.all() {
		if r.ids() != want[i] {
			t.Errorf("page %d offers %q, want %q", i, r.ids(), want[i])
		}
	}
}

func TestAQuestionWithoutOptionsNeedsAForm(t *testing.T) {
	const free = `ask_user {"question": "What is it called?", "options": []}`
	d, id := ready(t, withForm, nil)
	asked := d.forms(accepted(map[string]any{"other": "Rosebud"}))
	if text := mustClose(t, d.Say(id, free), "completed"); !strings.Contains(text, "Rosebud") {
		t.Errorf("the result is %q", text)
	}
	if p := asked.Load().RequestedSchema.Properties; len(p) != 1 || p["other"].Type != "string" {
		t.Errorf("asked for %v", p)
	}
	plain, id := ready(t, `{}`, nil)
	chooser := plain.answers(chose("0"))
	mustClose(t, plain.Say(id, free), "failed")
	if chooser.count() != 0 {
		t.Error("an empty chooser was shown")
	}
}

func TestTheQuestionFallbackCanBeSwitchedOff(t *testing.T) {
	d := sit(t, nil)
	d.leave()
	d.configure(`{"acp": {"question_fallback": "cancel"}}`)
	d.start(nil)
	d.Initialize(`{}`)
	asked := d.answers(chose("1"))
	mustClose(t, d.Say(d.New(d.dir), whereTo), "failed")
	if asked.count() != 0 {
		t.Error("a chooser was shown")
	}
}

func TestCancelAndDisconnectCloseAnOpenQuestion(t *testing.T) {
	for _, capabilities := range []string{withForm, `{}`} {
		d, id := ready(t, capabilities, nil)
		open := make(chan struct{}, 2)
		hold := func(jsonRaw) *acptest.Answer { open <- struct{}{}; return nil }
		d.On("elicitation/create", hold)
		d.On("session/request_permission", hold)
		turn := d.Prompt(id, whereTo)
		<-open
		d.Cancel(id)
		turn.Wait("cancelled")
		mustClose(t, d.Updates(id), "failed")
		if notes := strings.Join(d.Notes(), "\n"); strings.Count(notes, "$/cancel_request") != 1 {
			t.Errorf("the question was withdrawn as %q", notes)
		}
		d.Prompt(id, whereTo)
		<-open
		d.leave()
		d.start(nil)
		d.Initialize(`{}`)
		d.Load(id, d.dir)
		for _, u := range closing(d.Updates(id)) {
			if u.String("status") != "failed" {
				t.Errorf("replayed as %v", u.Body)
			}
		}
	}
}

func TestQuestionsInPlanModeNeedNoPermission(t *testing.T) {
	d, id := ready(t, `{}`, nil)
	d.answers(chose("1"))
	d.Say(id, "/plan")
	if text := mustClose(t, d.Say(id, whereTo), "completed"); !strings.Contains(text, "production") {
		t.Errorf("the result is %q", text)
	}
}
