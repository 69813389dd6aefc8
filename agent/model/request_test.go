package model_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nimlet/agent/model"
	"nimlet/internal/modeltest"
	"nimlet/session"
)

// picture is a real PNG, in base64.
func picture(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

func base(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// kinds returns what was sent, in short.
func kinds(r modeltest.Request) (all []string) {
	for _, p := range r.Pieces {
		all = append(all, p.Role+" "+p.Kind)
	}
	return all
}

// TestAConversationMovesBetweenProviders goes to and fro in the middle of a session with thinking,
// calls and pictures. What each is sent is checked by the servers.
func TestAConversationMovesBetweenProviders(t *testing.T) {
	a := modeltest.New(t, model.Anthropic)
	o := modeltest.New(t, model.OpenAI)
	atA, atO := model.New(a.Endpoint(), "claude", able), model.New(o.Endpoint(), "gpt", able)
	r := hello()
	r.Thinking = model.ThinkMedium
	step := func(s *modeltest.Server, m model.Model, parts ...modeltest.Part) {
		t.Helper()
		s.Reply(parts...)
		got := ask(t, m, r)
		if got.err != nil {
			t.Fatal(got.err)
		}
		next := user(text("go on"))
		if len(got.calls) > 0 {
			next = results(got.calls)
		}
		r.Messages = append(r.Messages, said(got.parts...), next)
	}
	step(a, atA, modeltest.Think("at a", "sigA"), modeltest.Redacted("secretA"), modeltest.CallID("toolu_"+strings.Repeat("x", 60), "read", "{}"))
	step(o, atO, modeltest.Think("at o", ""), modeltest.CallID("call:o/1", "read", "{}"))
	step(a, atA, modeltest.Think("at a again", "sigA2"), modeltest.Call("ping", "{}"))
	step(a, atA, modeltest.Think("at a still", "sigA3"), modeltest.Text("so"))
	step(o, atO, modeltest.Text("well"))
	step(a, atA, modeltest.Text("done"))

	last := a.Requests()[3]
	want := []string{"user text", "assistant thinking", "assistant thinking", "assistant call", "user result",
		"assistant call", "user result", "assistant thinking", "assistant call", "user result",
		"assistant thinking", "assistant text", "user text", "assistant text", "user text"}
	if diff := cmp.Diff(want, kinds(last)); diff != "" {
		t.Error(diff)
	}
	if _, asked := a.Requests()[1].Body["thinking"]; asked {
		t.Error("thinking is asked for in the middle of a turn that another model began")
	}
	if _, asked := last.Body["thinking"]; !asked {
		t.Error("thinking is not asked for once the turn is over")
	}
	for _, p := range o.Requests()[1].Pieces {
		if p.Kind == "thinking" && p.Text != "at o" {
			t.Errorf("the thought %q went to another provider", p.Text)
		}
	}
}

// TestAnyConversationBecomesARequest has what sessions may hold after crashes, compactions and edits.
func TestAnyConversationBecomesARequest(t *testing.T) {
	use := func(id, name, input string) session.Part {
		return session.ToolUse{Call: session.Call{ID: id, Name: name, Input: json.RawMessage(input)}}
	}
	out := func(id string) session.Part { return session.ToolOutput{ToolUseID: id, Content: "of " + id} }
	thought := session.Thinking{Thinking: "cut off"}
	for name, messages := range map[string][]session.Message{
		"nothing":                  nil,
		"empty messages":           {user(), said(), user(text(""))},
		"begins with an answer":    {said(text("a")), user(text("b"))},
		"ends with an answer":      {user(text("a")), said(text("b"))},
		"users in a row":           {user(text("a")), user(text("b")), user(text("c"))},
		"answers in a row":         {user(text("a")), said(text("b")), said(text("c")), user(text("d"))},
		"no result":                {user(text("a")), said(use("1", "read", "{}")), user(text("b"))},
		"no result, then answer":   {user(text("a")), said(use("1", "read", "{}")), said(text("b")), user(text("c"))},
		"orphan result":            {user(out("0"), text("a")), said(text("b")), user(out("7"))},
		"result of an older call":  {user(text("a")), said(use("1", "read", "{}")), user(out("1")), said(use("2", "read", "{}")), user(out("1"), out("2"))},
		"result twice":             {user(text("a")), said(use("1", "read", "{}")), user(out("1"), out("1"))},
		"results out of order":     {user(text("a")), said(use("1", "read", "{}"), use("2", "read", "{}")), user(text("x"), out("2"), out("1"))},
		"an id used in each turn":  {user(text("a")), said(use("1", "read", "{}")), user(out("1")), said(use("1", "read", "{}")), user(out("1"))},
		"ids alike when cleaned":   {user(text("a")), said(use("a/b", "read", "{}"), use("a:b", "read", "{}"), use("", "read", "{}")), user(out("a:b"), out("a/b"), out(""))},
		"long ids":                 {user(text("a")), said(use(strings.Repeat("é", 90), "read", "{}"), use(strings.Repeat("é", 91), "read", "{}")), user(out(strings.Repeat("é", 90)))},
		"arguments of all sorts":   {user(text("a")), said(use("1", "read", ""), use("2", "read", "{oops"), use("3", "read", "[]"), use("4", "read", "{\"a\":\"\xff\"}")), user()},
		"names of all sorts":       {user(text("a")), said(use("1", "", "{}"), use("2", "functions.read", "{}"), use("3", strings.Repeat("n", 99), "{}")), user()},
		"a call of the provider's": {user(text("a")), said(session.ToolUse{Call: session.Call{ID: "h", Name: "search"}, Hosted: true}, out("h"), text("found"), session.Source{URL: "u"}), user(text("b"))},
		"a thought alone":          {user(text("a")), said(thought), user(text("b"))},
		"a thought at the end":     {user(text("a")), said(text("b"), session.Thinking{Thinking: "c", Signature: "anthropic:thinking:x"}), user(text("d"))},
	} {
		t.Run(name, func(t *testing.T) {
			dialects(t, func(t *testing.T, d model.Dialect) {
				s, m := start(t, d)
				s.Reply(modeltest.Text("ok"))
				if got := ask(t, m, model.Request{Messages: messages, Tools: tools, Thinking: model.ThinkHigh}); got.err != nil {
					t.Error(got.err)
				}
				for _, p := range s.Requests()[0].Pieces {
					if p.Kind == "result" && name == "results out of order" && p.Text != "of "+p.ID {
						t.Errorf("%q stands under %q", p.Text, p.ID)
					}
				}
			})
		})
	}
}

func TestARequestIsTheSameEachTime(t *testing.T) {
	dialects(t, func(t *testing.T, d model.Dialect) {
		s, m := start(t, d, func(e *model.Endpoint) {
			e.Options = map[string]any{"metadata": map[string]any{"b": 1, "a": 2, "c": 3}}
			if d == model.OpenAI {
				e.Options = map[string]any{"temperature": 0.5}
			}
		})
		for range 5 {
			s.Reply(modeltest.Text("ok"))
			if got := ask(t, m, hello()); got.err != nil {
				t.Fatal(got.err)
			}
		}
		for _, r := range s.Requests()[1:] {
			if !bytes.Equal(r.Raw, s.Requests()[0].Raw) {
				t.Errorf("%s\nis not\n%s", r.Raw, s.Requests()[0].Raw)
			}
		}
	})
}

func TestTheCacheIsMarked(t *testing.T) {
	s, m := start(t, model.Anthropic)
	s.Reply(modeltest.Text("ok"))
	r := hello()
	r.Messages = append(r.Messages, said(text("a")), user(text("b")), said(text("c")), user(text("d"), text("e")))
	if got := ask(t, m, r); got.err != nil {
		t.Fatal(got.err)
	}
	raw := string(s.Requests()[0].Raw)
	mark := `"cache_control":{"type":"ephemeral"}`
	for _, want := range []string{`"text":"Be brief.",` + mark, `"text":"b",` + mark, `"text":"e",` + mark, `,` + mark + `}]`} {
		if !strings.Contains(raw, want) {
			t.Errorf("%s is not in %s", want, raw)
		}
	}
	if n := strings.Count(raw, mark); n != 4 {
		t.Errorf("%d marks, want 4", n)
	}
}

func TestThinkingIsAskedFor(t *testing.T) {
	known := func(levels ...model.Level) model.Abilities {
		return model.Abilities{Tools: true, Thinking: true, Levels: levels, MaxOutput: 20_000}
	}
	adaptive := known(model.ThinkLow, model.ThinkMedium, model.ThinkHigh)
	adaptive.Adaptive = true
	pinned := known(model.ThinkOff, model.ThinkLow, model.ThinkHigh)
	pinned.ToolEffort = "none"
	for _, test := range []struct {
		name    string
		dialect model.Dialect
		able    model.Abilities
		level   model.Level
		field   string
		want    any
	}{
		{"unasked", model.Anthropic, adaptive, "", "thinking", nil},
		{"budget", model.Anthropic, able, model.ThinkLow, "thinking", map[string]any{"type": "enabled", "budget_tokens": 4096.0}},
		{"budget within the answer", model.Anthropic, known(model.ThinkXHigh), model.ThinkXHigh, "thinking", map[string]any{"type": "enabled", "budget_tokens": 18976.0}},
		{"off", model.Anthropic, known(model.Levels()...), model.ThinkOff, "thinking", nil},
		{"effort", model.Anthropic, adaptive, model.ThinkHigh, "output_config", map[string]any{"effort": "high"}},
		{"effort, nearest", model.Anthropic, adaptive, model.ThinkOff, "output_config", map[string]any{"effort": "low"}},
		{"cannot", model.Anthropic, model.Abilities{Tools: true}, model.ThinkHigh, "thinking", nil},
		{"unasked", model.OpenAI, able, "", "reasoning_effort", nil},
		{"plain", model.OpenAI, able, model.ThinkMedium, "reasoning_effort", "medium"},
		{"unknown model, off", model.OpenAI, able, model.ThinkOff, "reasoning_effort", nil},
		{"unknown model, most", model.OpenAI, able, model.ThinkXHigh, "reasoning_effort", "high"},
		{"off", model.OpenAI, known(model.Levels()...), model.ThinkOff, "reasoning_effort", "none"},
		{"never beside tools", model.OpenAI, pinned, model.ThinkHigh, "reasoning_effort", "none"},
		{"cannot", model.OpenAI, model.Abilities{Tools: true}, model.ThinkHigh, "reasoning_effort", nil},
	} {
		t.Run(string(test.dialect)+" "+test.name, func(t *testing.T) {
			s := modeltest.New(t, test.dialect)
			s.Reply(modeltest.Text("ok"))
			r := hello()
			r.Thinking = test.level
			if got := ask(t, model.New(s.Endpoint(), "m", test.able), r); got.err != nil {
				t.Fatal(got.err)
			}
			if diff := cmp.Diff(test.want, s.Requests()[0].Body[test.field]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReasoningIsGivenUpWhereToolsForbidIt(t *testing.T) {
	s, m := start(t, model.OpenAI)
	s.Reply(modeltest.Fail(400, `{"error":{"message":"Function tools with reasoning_effort are not supported in /v1/chat/completions; set reasoning_effort to 'none'."}}`))
	s.Reply(modeltest.Text("ok"))
	s.Reply(modeltest.Text("ok"))
	r := hello()
	r.Thinking = model.ThinkHigh
	for i, retries := range []int{1, 0} {
		if got := ask(t, m, r); got.err != nil || len(got.retries) != retries {
			t.Errorf("answer %d: %v after %d retries", i, got.err, len(got.retries))
		}
	}
	for i, want := range []string{"high", "none", "none"} {
		if got := s.Requests()[i].Body["reasoning_effort"]; got != want {
			t.Errorf("request %d asks for %v, want %s", i, got, want)
		}
	}
}

func TestOptionsAndHeadersAreSent(t *testing.T) {
	dialects(t, func(t *testing.T, d model.Dialect) {
		s, m := start(t, d, func(e *model.Endpoint) {
			e.Headers = map[string]string{"X-Team": "compilers", "User-Agent": "mine"}
			e.Options = map[string]any{"temperature": 0.25, "stream": false, "messages": "no", "model": "no",
				"stream_options": map[string]any{"include_usage": false}, "max_tokens": json.Number("77")}
			if d == model.Anthropic {
				e.Options["stream_options"] = nil // takes out what is not there
			}
		})
		s.Reply(modeltest.Text("ok"))
		if got := ask(t, m, hello()); got.err != nil {
			t.Fatal(got.err)
		}
		r := s.Requests()[0]
		if r.Header.Get("X-Team") != "compilers" || r.Header.Get("User-Agent") != "mine" {
			t.Errorf("the headers are %v", r.Header)
		}
		if r.Body["temperature"] != 0.25 || r.Body["stream"] != true || r.Body["model"] != "test-model" || r.Body["max_tokens"] != 77.0 {
			t.Errorf("the body is %v", r.Body)
		}
	})
}

func TestTheLimitOfAnAnswer(t *testing.T) {
	for _, test := range []struct {
		dialect     model.Dialect
		asked, most int
		want        any
	}{
		{model.Anthropic, 0, 0, 8192.0}, {model.Anthropic, 0, 500, 500.0}, {model.Anthropic, 900, 500, 500.0}, {model.Anthropic, 900, 0, 900.0},
		{model.OpenAI, 0, 500, nil}, {model.OpenAI, 900, 500, 500.0}, {model.OpenAI, 900, 0, 900.0},
	} {
		s := modeltest.New(t, test.dialect)
		s.Reply(modeltest.Text("ok"))
		r := hello()
		r.MaxTokens = test.asked
		if got := ask(t, model.New(s.Endpoint(), "m", model.Abilities{Tools: true, MaxOutput: test.most}), r); got.err != nil {
			t.Fatal(got.err)
		}
		if got := s.Requests()[0].Body["max_tokens"]; got != test.want {
			t.Errorf("%s: asked %d of %d, sent %v, want %v", test.dialect, test.asked, test.most, got, test.want)
		}
	}
}
