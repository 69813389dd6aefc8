package model_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nimlet/agent/model"
	"nimlet/session"
)

// odd answers with lines as they stand, each a data field, and keeps the last request.
func odd(t *testing.T, d model.Dialect, name string, lines ...string) (model.Model, *map[string]any) {
	t.Helper()
	return oddModel(t, d, name, "gemini-3", lines...)
}

func oddModel(t *testing.T, d model.Dialect, name, id string, lines ...string) (model.Model, *map[string]any) {
	t.Helper()
	got := &map[string]any{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(raw, got)
		}
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: "+strings.Join(lines, "\n\ndata: "))
	}))
	t.Cleanup(server.Close)
	return model.Hasty(model.New(model.Endpoint{Name: name, Dialect: d, BaseURL: server.URL, Client: server.Client()}, id, able)), got
}

func delta(d string) string { return `{"choices":[{"index":0,"delta":` + d + `}]}` }

// sentBack answers the calls of a and returns the assistant's message of the next request.
func sentBack(t *testing.T, m model.Model, body *map[string]any, a answer) map[string]any {
	t.Helper()
	r := hello()
	r.Messages = append(r.Messages, said(a.parts...), results(a.calls))
	ask(t, m, r)
	messages, _ := (*body)["messages"].([]any)
	for _, m := range messages {
		if m, _ := m.(map[string]any); m["role"] == "assistant" {
			return m
		}
	}
	t.Fatal("no answer was sent back")
	return nil
}

// TestWaysOfSendingCalls has those of servers that took the dialect over loosely.
func TestWaysOfSendingCalls(t *testing.T) {
	for name, lines := range map[string][]string{
		"whole, all of index 0": {delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{\"n\":1}"}}]}`),
			delta(`{"tool_calls":[{"index":0,"id":"b","function":{"name":"read","arguments":"{\"n\":2}"}}]}`)},
		"whole, without an index": {delta(`{"content":null,"tool_calls":[{"id":"a","function":{"name":"read","arguments":"{\"n\":1}"}},{"id":"b","function":{"name":"read","arguments":"{\"n\":2}"}}]}`)},
		"without index or id":     {delta(`{"tool_calls":[{"function":{"name":"read","arguments":"{\"n\":1}"}},{"function":{"name":"read","arguments":"{\"n\":2}"}}]}`)},
		"pieces without an index": {delta(`{"tool_calls":[{"id":"a","function":{"name":"read","arguments":"{\"n\""}}]}`), delta(`{"tool_calls":[{"function":{"arguments":":1}"}}]}`),
			delta(`{"tool_calls":[{"id":"b","function":{"name":"read"}}]}`), delta(`{"tool_calls":[{"id":"b","function":{"arguments":"{\"n\":2}"}}]}`)},
		"interleaved": {delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":""}},{"index":1,"id":"b","function":{"name":"read","arguments":"{\"n"}}]}`),
			delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"n\":1}"}},{"index":1,"function":{"arguments":"\":2}"}}]}`)},
		"arguments as an object": {delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":{"n":1}}},{"index":1,"id":"b","function":{"name":"read","arguments":{"n":2}}}]}`)},
		"the id and name each time": {delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{\"n\":"}}]}`), delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"1}"}}]}`),
			delta(`{"tool_calls":[{"index":1,"id":"b","function":{"name":"read","arguments":"{\"n\":2}"}}]}`)},
	} {
		m, _ := odd(t, model.OpenAI, "odd", append(lines, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, "[DONE]")...)
		got := ask(t, m, hello())
		if got.err != nil || got.stop != model.ToolCalls || len(got.calls) != 2 {
			t.Errorf("%s: %v, %q, %v", name, got.calls, got.stop, got.err)
			continue
		}
		for i, want := range []string{`{"n":1}`, `{"n":2}`} {
			if c := got.calls[i]; string(c.Input) != want || c.Name != "read" || c.ID == "" {
				t.Errorf("%s: call %d is %+v", name, i, c)
			}
		}
	}
}

func TestWaysOfSendingText(t *testing.T) {
	m, _ := odd(t, model.OpenAI, "odd",
		`{"choices":[{"index":0,"delta":{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"thinking","thinking":[]}]}}]}`,
		delta(`{"content":null}`), `{"choices":[]}`, delta(`{"content":"b"}`), `{"choices":[{"index":1,"delta":{"content":"another choice"}}]}`,
		`{"choices":[{"index":0,"delta":{"refusal":"c"},"finish_reason":"stop"}]}`, "[DONE]") // and no blank line at the end
	if got := ask(t, m, hello()); got.err != nil || got.text != "abc" || got.stop != model.Refusal {
		t.Errorf("%q, %q, %v", got.text, got.stop, got.err)
	}
	m, _ = odd(t, model.Anthropic, "odd", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"all "}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"of it"}}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"read","input":{"n":1}}}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"server_tool_use","id":"s","name":"search","input":{}}}`,
		`{"type":"content_block_stop","index":2}`, `{"type":"message_stop"}`, "")
	got := ask(t, m, hello())
	if got.err != nil || got.text != "all of it" || got.stop != model.ToolCalls || len(got.calls) != 1 || string(got.calls[0].Input) != `{"n":1}` {
		t.Errorf("%q, %v, %q, %v", got.text, got.calls, got.stop, got.err)
	}
}

func TestALargeArgumentInOneEvent(t *testing.T) {
	large := strings.Repeat("x", 5<<20)
	m, _ := odd(t, model.OpenAI, "odd", delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{\"path\":\"`+large+`\"}"}}]}`), "[DONE]")
	if got := ask(t, m, hello()); got.err != nil || len(got.calls) != 1 || len(got.calls[0].Input) != len(large)+len(`{"path":""}`) {
		t.Errorf("%d calls, %v", len(got.calls), got.err)
	}
}

func TestThoughtSignaturesOfGoogleGoBack(t *testing.T) {
	m, body := odd(t, model.OpenAI, "google", delta(`{"tool_calls":[{"index":0,"id":"a","extra_content":{"google":{"thought_signature":"SIG"}},"function":{"name":"read","arguments":"{}"}}]}`),
		delta(`{"tool_calls":[{"index":1,"id":"b","function":{"name":"read","arguments":"{}"}}]}`), "[DONE]")
	signatures := func(message map[string]any) (all []any) {
		for _, c := range message["tool_calls"].([]any) {
			extra, _ := c.(map[string]any)["extra_content"].(map[string]any)
			google, _ := extra["google"].(map[string]any)
			all = append(all, google["thought_signature"])
		}
		return all
	}
	got := ask(t, m, hello())
	if diff := cmp.Diff([]any{"SIG", nil}, signatures(sentBack(t, m, body, got))); diff != "" {
		t.Error(diff)
	}
	foreign := got
	foreign.parts = nil
	for _, c := range got.calls {
		c.ThoughtSignature = ""
		foreign.parts = append(foreign.parts, c)
	}
	if diff := cmp.Diff([]any{"skip_thought_signature_validator", nil}, signatures(sentBack(t, m, body, foreign))); diff != "" {
		t.Error(diff)
	}
	other, body := odd(t, model.OpenAI, "other", delta(`{"content":"ok"}`), "[DONE]")
	if diff := cmp.Diff([]any{nil, nil}, signatures(sentBack(t, other, body, got))); diff != "" {
		t.Error(diff)
	}
}

func TestReasoningDetailsGoBack(t *testing.T) {
	m, body := odd(t, model.OpenAI, "openrouter",
		delta(`{"reasoning":"I ","reasoning_details":[{"type":"reasoning.text","index":0,"text":"I "}]}`),
		delta(`{"reasoning":"think","reasoning_details":[{"type":"reasoning.text","index":0,"text":"think","signature":null}]}`),
		delta(`{"reasoning_details":[{"type":"reasoning.text","index":0,"signature":"S"}]}`),
		delta(`{"reasoning_details":[{"type":"reasoning.encrypted","index":1,"data":"D"}]}`),
		delta(`{"content":"so"}`), delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{}"}}]}`), "[DONE]")
	got := ask(t, m, hello())
	thought, _ := got.parts[0].(session.Thinking)
	if got.err != nil || thought.Thinking != "I think" {
		t.Errorf("%+v, %v", got.parts, got.err)
	}
	want := []any{map[string]any{"type": "reasoning.text", "index": 0.0, "text": "I think", "signature": "S"}, map[string]any{"type": "reasoning.encrypted", "index": 1.0, "data": "D"}}
	if diff := cmp.Diff(any(want), sentBack(t, m, body, got)["reasoning_details"]); diff != "" {
		t.Error(diff)
	}
}

func TestARouterIsToldWhatToCacheForAnthropic(t *testing.T) {
	m, body := odd(t, model.OpenAI, "openrouter", delta(`{"content":"ok"}`), "[DONE]")
	r := hello()
	r.Messages = append(r.Messages, said(text("a")), user(text("b")), said(text("c")), user(text("d")))
	marks := func() int {
		t.Helper()
		if got := ask(t, m, r); got.err != nil {
			t.Fatal(got.err)
		}
		raw, err := json.Marshal(*body)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(raw), `"cache_control":{"type":"ephemeral"}`)
	}
	if n := marks(); n != 0 {
		t.Errorf("%d marks for a model that knows none", n)
	}
	m, body = oddModel(t, model.OpenAI, "openrouter", "anthropic/claude-sonnet-5", delta(`{"content":"ok"}`), "[DONE]")
	if n := marks(); n != 3 {
		t.Errorf("%d marks, want those of the system prompt and the last two turns", n)
	}
}

func TestAHalfThoughtIsNotSentBackAsSigned(t *testing.T) {
	m, _ := odd(t, model.Anthropic, "odd", `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"half"}}`, `{"type":"content_block_stop","index":0}`)
	got := ask(t, m, hello())
	if got.err == nil || len(got.parts) != 0 {
		t.Errorf("%+v, %v", got.parts, got.err)
	}
}
