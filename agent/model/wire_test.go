package model_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nimlet/agent/model"
	"nimlet/internal/modeltest"
	"nimlet/session"
	"nimlet/tooling"
)

// dialects runs a test against each.
func dialects(t *testing.T, test func(t *testing.T, d model.Dialect)) {
	for _, d := range []model.Dialect{model.Anthropic, model.OpenAI} {
		t.Run(string(d), func(t *testing.T) { test(t, d) })
	}
}

var able = model.Abilities{Images: true, Tools: true, Thinking: true, MaxOutput: 30_000}

var tools = []tooling.Spec{
	{Name: "read", Description: "reads", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)},
	{Name: "ping", Schema: json.RawMessage(`{"type":"object"}`)},
}

// An answer is what one request gave.
type answer struct {
	parts   []session.Part
	text    string
	calls   []session.ToolUse
	usage   *model.Usage
	stop    model.Reason
	retries []model.Retrying
	err     error
}

// ask collects the answer to r and checks the order that Model promises.
func ask(t *testing.T, m model.Model, r model.Request) (a answer) {
	t.Helper()
	thought, open := "", false
	for chunk, err := range m.Stream(t.Context(), r) {
		if a.err != nil || a.stop != "" {
			t.Errorf("%T follows the end of the answer", chunk)
		}
		switch c := chunk.(type) {
		case model.Text:
			a.text += string(c)
			if n := len(a.parts); n > 0 && !open {
				if last, ok := a.parts[n-1].(session.Text); ok {
					a.parts[n-1] = session.Text{Text: last.Text + string(c)}
					continue
				}
			}
			a.parts, open = append(a.parts, session.Text{Text: string(c)}), false
		case model.Thinking:
			thought, open = thought+c.Text, true
			if c.Signature != "" {
				a.parts = append(a.parts, session.Thinking{Thinking: thought, Signature: c.Signature})
				thought, open = "", false
			}
		case model.ToolCall:
			a.calls = append(a.calls, session.ToolUse(c))
			a.parts = append(a.parts, session.ToolUse(c))
		case model.Usage:
			a.usage = &c
		case model.Retrying:
			if len(a.parts) > 0 || thought != "" {
				t.Error("a retry follows a part of the answer")
			}
			a.retries = append(a.retries, c)
		case model.Stop:
			a.stop = c.Reason
		}
		if err != nil {
			a.err = err
		}
	}
	return a
}

func user(parts ...session.Part) session.Message {
	return session.Message{Role: session.RoleUser, Content: parts}
}

func said(parts ...session.Part) session.Message {
	return session.Message{Role: session.RoleAssistant, Content: parts}
}

func text(s string) session.Part { return session.Text{Text: s} }

func hello() model.Request {
	return model.Request{System: "Be brief.", Messages: []session.Message{user(text("hello"))}, Tools: tools}
}

func results(calls []session.ToolUse) session.Message {
	var parts []session.Part
	for _, c := range calls {
		parts = append(parts, session.ToolOutput{ToolUseID: c.ID, Content: "result of " + c.ID})
	}
	return user(parts...)
}

func start(t *testing.T, d model.Dialect, change ...func(*model.Endpoint)) (*modeltest.Server, model.Model) {
	t.Helper()
	s := modeltest.New(t, d)
	e := s.Endpoint()
	for _, c := range change {
		c(&e)
	}
	return s, model.Hasty(model.New(e, "test-model", able))
}

func TestAnAnswerStreams(t *testing.T) {
	dialects(t, func(t *testing.T, d model.Dialect) {
		s, m := start(t, d)
		s.Reply(modeltest.Think("let me see", "sig1"), modeltest.Text("I look at two files."),
			modeltest.CallID("toolu_a", "read", `{"path": "a b.go"}`), modeltest.CallID("toolu_b", "ping", ""), modeltest.Usage(10, 20, 300, 4000))
		got := ask(t, m, hello())
		if got.err != nil {
			t.Fatal(got.err)
		}
		thinking, ok := got.parts[0].(session.Thinking)
		if !ok || thinking.Thinking != "let me see" || thinking.Signature == "" {
			t.Errorf("the first part is %#v", got.parts[0])
		}
		want := []session.Part{text("I look at two files."),
			session.ToolUse{Call: session.Call{ID: "toolu_a", Name: "read", Input: json.RawMessage(`{"path": "a b.go"}`)}},
			session.ToolUse{Call: session.Call{ID: "toolu_b", Name: "ping", Input: json.RawMessage(`{}`)}}}
		if diff := cmp.Diff(want, got.parts[1:]); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(&model.Usage{Input: 4310, Output: 20, CacheRead: 300, CacheWrite: 4000}, got.usage); diff != "" {
			t.Error(diff)
		}
		if got.stop != model.ToolCalls {
			t.Errorf("stop is %q", got.stop)
		}
	})
}

func TestStopReasons(t *testing.T) {
	for d, words := range map[model.Dialect]map[string]model.Reason{
		model.Anthropic: {"end_turn": model.EndTurn, "stop_sequence": model.EndTurn, "max_tokens": model.MaxTokens, "refusal": model.Refusal,
			"model_context_window_exceeded": model.MaxTokens, "pause_turn": model.EndTurn, "of_the_future": model.EndTurn},
		model.OpenAI: {"stop": model.EndTurn, "length": model.MaxTokens, "content_filter": model.Refusal, "of_the_future": model.EndTurn},
	} {
		for word, want := range words {
			s, m := start(t, d)
			s.Reply(modeltest.Text("well"), modeltest.Stop(word))
			if got := ask(t, m, hello()); got.err != nil || got.stop != want {
				t.Errorf("%s %q is %q, %v; want %q", d, word, got.stop, got.err, want)
			}
		}
	}
}

// awkward holds characters of every length, which a read may cut anywhere.
const awkward = "Grüße, 日本語 und 👩‍👩‍👧 – «ok» \u0000\u2028 𝔘 end"

func TestCharactersSurviveReadsOfOneByte(t *testing.T) {
	dialects(t, func(t *testing.T, d model.Dialect) {
		s, m := start(t, d)
		arguments := `{"path":"` + strings.ReplaceAll(awkward, "\u0000", "") + `"}`
		s.Reply(modeltest.Text(awkward), modeltest.Call("read", arguments), modeltest.OneByte(), modeltest.CRLF())
		got := ask(t, m, hello())
		if got.err != nil || got.text != awkward || len(got.calls) != 1 || string(got.calls[0].Input) != arguments {
			t.Errorf("got %q, %v, %v", got.text, got.calls, got.err)
		}
	})
}

func TestUnknownFieldsAndEventsAreSkipped(t *testing.T) {
	dialects(t, func(t *testing.T, d model.Dialect) {
		s, m := start(t, d)
		s.Reply(modeltest.Text("one two three"), modeltest.Call("ping", "{}"), modeltest.Noise())
		if got := ask(t, m, hello()); got.err != nil || got.text != "one two three" || len(got.calls) != 1 {
			t.Errorf("got %q, %v, %v", got.text, got.calls, got.err)
		}
	})
}

func TestSixtyCallsAreAnsweredInOrder(t *testing.T) {
	dialects(t, func(t *testing.T, d model.Dialect) {
		s, m := start(t, d)
		var parts []modeltest.Part
		for i := range 60 {
			parts = append(parts, modeltest.Call("read", fmt.Sprintf(`{"path":"%d"}`, i)))
		}
		s.Reply(parts...)
		s.Reply(modeltest.Text("done"))
		r := hello()
		got := ask(t, m, r)
		if len(got.calls) != 60 {
			t.Fatalf("%d calls, %v", len(got.calls), got.err)
		}
		for i, c := range got.calls {
			if want := fmt.Sprintf(`{"path":"%d"}`, i); string(c.Input) != want {
				t.Errorf("call %d has %s, want %s", i, c.Input, want)
			}
		}
		r.Messages = append(r.Messages, said(got.parts...), results(got.calls))
		if got = ask(t, m, r); got.err != nil || got.text != "done" {
			t.Error(got.text, got.err)
		}
	})
}

func TestAnArgumentOfFiveMegabytesArrives(t *testing.T) {
	dialects(t, func(t *testing.T, d model.Dialect) {
		s, m := start(t, d)
		large := `{"path":"` + strings.Repeat("x\\n", 5<<20/3) + `"}`
		s.Reply(modeltest.Call("read", large))
		s.Reply(modeltest.Text("done"))
		r := hello()
		got := ask(t, m, r)
		if got.err != nil || len(got.calls) != 1 || string(got.calls[0].Input) != large {
			t.Fatalf("the argument did not arrive whole: %v", got.err)
		}
		r.Messages = append(r.Messages, said(got.parts...), results(got.calls))
		if got = ask(t, m, r); got.err != nil {
			t.Error(got.err)
		}
	})
}

func TestMissingAndRepeatedIDsAreRepaired(t *testing.T) {
	dialects(t, func(t *testing.T, d model.Dialect) {
		s, m := start(t, d)
		calls := func() {
			s.Reply(modeltest.CallID("same", "read", `{"path":"1"}`), modeltest.CallID("same", "read", `{"path":"2"}`),
				modeltest.CallID("", "read", `{"path":"3"}`), modeltest.CallID("", "read", `{"path":"4"}`))
		}
		calls()
		calls()
		s.Reply(modeltest.Text("done"))
		r := hello()
		seen := map[string]bool{}
		for range 2 {
			got := ask(t, m, r)
			if len(got.calls) != 4 {
				t.Fatalf("%d calls, %v", len(got.calls), got.err)
			}
			for i, c := range got.calls {
				if c.ID == "" || seen[c.ID] || string(c.Input) != fmt.Sprintf(`{"path":"%d"}`, i+1) {
					t.Errorf("call %d is %q with %s", i, c.ID, c.Input)
				}
				seen[c.ID] = true
			}
			r.Messages = append(r.Messages, said(got.parts...), results(got.calls))
		}
		if got := ask(t, m, r); got.err != nil {
			t.Error(got.err)
		}
		for _, p := range s.Requests()[2].Pieces {
			if p.Kind == "result" && p.Text != "result of "+p.ID {
				t.Errorf("%q stands under %q", p.Text, p.ID)
			}
		}
	})
}

func TestMalformedArgumentsAreSaidToBe(t *testing.T) {
	dialects(t, func(t *testing.T, d model.Dialect) {
		for arguments, want := range map[string]string{`{"path": }`: "invalid character", `[1]`: "array", `null`: "null", `{"path": "a`: "unexpected end"} {
			s, m := start(t, d)
			s.Reply(modeltest.Call("read", arguments))
			got := ask(t, m, hello())
			if got.err != nil || len(got.calls) != 1 || !strings.Contains(got.calls[0].ParseError, want) || string(got.calls[0].Input) != "{}" {
				t.Errorf("%s gives %+v, %v", arguments, got.calls, got.err)
			}
		}
		s, m := start(t, d)
		s.Reply(modeltest.Call("ping", "{}"), modeltest.Call("read", `{"path": "a`), modeltest.Stop(map[model.Dialect]string{model.Anthropic: "max_tokens", model.OpenAI: "length"}[d]))
		got := ask(t, m, hello())
		if got.stop != model.MaxTokens || len(got.calls) != 2 || got.calls[0].ParseError != "" || !strings.Contains(got.calls[1].ParseError, "length limit") {
			t.Errorf("a call that was cut short is %+v, %q", got.calls, got.stop)
		}
	})
}
