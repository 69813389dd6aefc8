package model_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"nimlet/agent/model"
	"nimlet/internal/modeltest"
)

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
	s, m = start(t, model.OpenAI)
	s.Reply(modeltest.Fail(429, `[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","details":[{"retryDelay": "77.5s"}]}}]`))
	if e, _ = failure(t, m, hello()); e.Kind != model.RateLimited || e.RetryAfter != 77500*time.Millisecond {
		t.Errorf("%q, %s", e.Kind, e.RetryAfter)
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
