package model_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

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

// failure asks and returns the Error that the answer must end with.
func failure(t *testing.T, m model.Model, r model.Request) (*model.Error, answer) {
	t.Helper()
	got := ask(t, m, r)
	var e *model.Error
	if !errors.As(got.err, &e) {
		t.Fatalf("the answer ended with %v, %q; want an Error", got.err, got.stop)
	}
	return e, got
}

const refusalBody = `{"type":"error","error":{"type":"some_error","message":"The provider's own sentence."}}`

func TestRefusalsSayWhatToDo(t *testing.T) {
	dialects(t, func(t *testing.T, d model.Dialect) {
		for _, test := range []struct {
			status int
			body   string
			kind   model.Kind
			want   []string
		}{
			{401, refusalBody, model.Auth, []string{"The provider's own sentence", "HTTP 401", "set MODELTEST_API_KEY"}},
			{403, refusalBody, model.Auth, []string{"The provider's own sentence", "set MODELTEST_API_KEY"}},
			{404, refusalBody, model.NotFound, []string{"The provider's own sentence", "test-model"}},
			{402, refusalBody, model.Quota, []string{"billing"}},
			{400, refusalBody, model.BadRequest, []string{"The provider's own sentence"}},
			{400, `{"error":"just text"}`, model.BadRequest, []string{"just text"}},
			{400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, model.Auth, []string{"API key not valid", "set MODELTEST_API_KEY"}},
			{400, `{"detail":"from a Python server"}`, model.BadRequest, []string{"from a Python server"}},
			{400, `{"error":{"code":400,"message":"Provider returned error","metadata":{"raw":"{\"error\":{\"message\":\"what is behind\"}}"}}}`, model.BadRequest, []string{"Provider returned error: what is behind"}},
			{429, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`, model.Quota, []string{"exceeded your current quota"}},
			{418, "<html>a page</html>", model.BadRequest, []string{"teapot"}},
			{422, "plain\ntext", model.BadRequest, []string{"plain text"}},
			{302, "", model.BadRequest, []string{"redirects"}},
		} {
			s, m := start(t, d)
			s.Reply(modeltest.Fail(test.status, test.body, "Location", "http://127.0.0.1:1/"))
			e, got := failure(t, m, hello())
			if e.Kind != test.kind || e.Status != test.status || len(got.retries) > 0 || len(got.parts) > 0 {
				t.Errorf("%d %s: kind %q, status %d, %d retries", test.status, test.body, e.Kind, e.Status, len(got.retries))
			}
			for _, want := range test.want {
				if !strings.Contains(e.Error(), want) {
					t.Errorf("%d: %q lacks %q", test.status, e, want)
				}
			}
			if strings.ContainsAny(e.Error(), "\n") {
				t.Errorf("%q is more than a line", e)
			}
		}
	})
}

func TestTooLongIsToldApartHoweverItIsWorded(t *testing.T) {
	for _, wording := range []string{
		"prompt is too long: 210000 tokens > 200000 maximum",
		"input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000",
		"This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
		"Your input exceeds the context window of this model. Please adjust your input and try again.",
		"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
		"the request exceeds the available context size (8192 tokens), try increasing it",
		"Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens",
		"This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
		"Please reduce the length of the messages or completion.",
		"Invalid request: Your request exceeded model token limit: 262144",
		"input is too long for requested model",
	} {
		s, m := start(t, model.OpenAI)
		body, err := json.Marshal(map[string]any{"error": map[string]string{"message": wording}})
		if err != nil {
			t.Fatal(err)
		}
		s.Reply(modeltest.Fail(400, string(body)))
		if e, _ := failure(t, m, hello()); e.Kind != model.TooLong || !strings.Contains(e.Error(), "new session") {
			t.Errorf("%q is %q: %v", wording, e.Kind, e)
		}
	}
	s, m := start(t, model.Anthropic)
	s.Reply(modeltest.Fail(413, `{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`))
	if e, _ := failure(t, m, hello()); e.Kind != model.TooLong {
		t.Errorf("413 is %q", e.Kind)
	}
	s, m = start(t, model.OpenAI)
	s.Reply(modeltest.ErrorEvent("invalid_request_error", "maximum context length exceeded"))
	if e, _ := failure(t, m, hello()); e.Kind != model.TooLong {
		t.Errorf("within a stream it is %q", e.Kind)
	}
}

func TestWhatMayPassIsAskedAgain(t *testing.T) {
	dialects(t, func(t *testing.T, d model.Dialect) {
		for name, fault := range map[string][]modeltest.Part{
			"429":              {modeltest.Fail(429, refusalBody, "Retry-After", "0")},
			"500":              {modeltest.Fail(500, refusalBody, "Retry-After-Ms", "1")},
			"529":              {modeltest.Fail(529, refusalBody, "Retry-After", "0.001")},
			"503, no JSON":     {modeltest.Fail(503, "upstream", "Retry-After", "0")},
			"overloaded":       {modeltest.ErrorEvent("overloaded_error", "Overloaded")},
			"hang-up":          {modeltest.HangUp()},
			"end in mid-event": {modeltest.CleanEnd()},
			"no end":           {modeltest.NoEnd()},
			"garbage":          {modeltest.Garbage()},
		} {
			t.Run(name, func(t *testing.T) {
				s, m := start(t, d)
				s.Reply(fault...)
				s.Reply(modeltest.Text("at last"))
				got := ask(t, m, hello())
				if got.err != nil || got.text != "at last" || len(got.retries) != 1 || got.retries[0].Attempt != 2 || got.retries[0].Err == nil {
					t.Errorf("got %q, %v, %v", got.text, got.retries, got.err)
				}
				if r := s.Requests(); len(r) != 2 || string(r[0].Raw) != string(r[1].Raw) {
					t.Error("the second request is not the first")
				}
			})
		}
	})
}

func TestAskingAgainEnds(t *testing.T) {
	s, m := start(t, model.Anthropic)
	for range 4 {
		s.Reply(modeltest.Fail(529, refusalBody, "Retry-After", "0"))
	}
	e, got := failure(t, m, hello())
	if e.Kind != model.Overloaded || len(got.retries) != 3 {
		t.Errorf("%q after %d retries", e.Kind, len(got.retries))
	}
	for _, header := range [][]string{{"Retry-After", "3600"}, {"Retry-After", time.Now().Add(time.Hour).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")}, {"X-Should-Retry", "false"}} {
		s, m = start(t, model.OpenAI)
		s.Reply(modeltest.Fail(429, refusalBody, header...))
		e, got = failure(t, m, hello())
		if e.Kind != model.RateLimited || len(got.retries) != 0 {
			t.Errorf("%v: %q after %d retries", header, e.Kind, len(got.retries))
		}
		if header[0] == "Retry-After" && (e.RetryAfter < 59*time.Minute || !strings.Contains(e.Error(), "try again in ")) {
			t.Errorf("%v: %s, %v", header, e.RetryAfter, e)
		}
	}
}

func TestNothingIsAskedAgainOnceTheAnswerBegan(t *testing.T) {
	dialects(t, func(t *testing.T, d model.Dialect) {
		for name, fault := range map[string]modeltest.Part{
			"hang-up": modeltest.HangUp(), "end in mid-event": modeltest.CleanEnd(), "no end": modeltest.NoEnd(),
			"garbage": modeltest.Garbage(), "overloaded": modeltest.ErrorEvent("overloaded_error", "Overloaded"),
		} {
			s, m := start(t, d)
			s.Reply(modeltest.Text("half an"), modeltest.Call("ping", "{}"), fault)
			e, got := failure(t, m, hello())
			if got.text != "half an" || len(got.retries) != 0 || e.Hint == "" || got.usage != nil {
				t.Errorf("%s: %q, %d retries, %v", name, got.text, len(got.retries), e)
			}
			if want := map[bool]model.Kind{true: model.Overloaded, false: model.Broken}[name == "overloaded"]; e.Kind != want {
				t.Errorf("%s is %q, want %q", name, e.Kind, want)
			}
		}
	})
}

func TestAnAnswerThatSaysNothingIsAFailure(t *testing.T) {
	dialects(t, func(t *testing.T, d model.Dialect) {
		for _, parts := range [][]modeltest.Part{{}, {modeltest.Text("")}, {modeltest.Text(" \n")}, {modeltest.Think("hm", "sig")}} {
			s, m := start(t, d)
			s.Reply(parts...)
			if e, _ := failure(t, m, hello()); e.Kind != model.Empty || e.Hint == "" {
				t.Errorf("it is %q: %v", e.Kind, e)
			}
		}
		s, m := start(t, d)
		s.Reply(modeltest.Stop(map[model.Dialect]string{model.Anthropic: "refusal", model.OpenAI: "content_filter"}[d]))
		if got := ask(t, m, hello()); got.err != nil || got.stop != model.Refusal {
			t.Errorf("a refusal without a word is %q, %v", got.stop, got.err)
		}
	})
}

func TestSilenceEnds(t *testing.T) {
	dialects(t, func(t *testing.T, d model.Dialect) {
		for _, parts := range [][]modeltest.Part{{modeltest.Stall()}, {modeltest.Text("then"), modeltest.Stall()}} {
			s, m := start(t, d, func(e *model.Endpoint) { e.Timeout = 100 * time.Millisecond })
			s.Reply(parts...)
			e, got := failure(t, m, hello())
			if e.Kind != model.Timeout || len(got.retries) != 0 || !strings.Contains(e.Error(), "100ms") {
				t.Errorf("it is %q after %d retries: %v", e.Kind, len(got.retries), e)
			}
		}
	})
}
