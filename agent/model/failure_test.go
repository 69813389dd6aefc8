package model_test

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"nimlet/agent/model"
	"nimlet/internal/modeltest"
)

func TestTheKeyIsInNoError(t *testing.T) {
	dialects(t, func(t *testing.T, d model.Dialect) {
		echo := `{"error":{"message":"Incorrect key ` + modeltest.Key + ` (Bearer token-in-a-header), see ` + modeltest.Key + `"}}`
		for _, reply := range []modeltest.Part{modeltest.Fail(401, echo), modeltest.Fail(400, modeltest.Key+"\n<"+modeltest.Key), modeltest.ErrorEvent("authentication_error", "no "+modeltest.Key),
			modeltest.Fail(400, strings.Repeat("x", 590)+modeltest.Key)} {
			s, m := start(t, d, func(e *model.Endpoint) {
				e.Headers = map[string]string{"X-Proxy-Auth": "Bearer token-in-a-header"}
			})
			s.Reply(reply)
			e, _ := failure(t, m, hello())
			for _, secret := range []string{modeltest.Key[:12], "token-in-a-header"} {
				if strings.Contains(e.Error()+e.Message+e.Hint, secret) {
					t.Errorf("%q holds a secret", e)
				}
			}
		}
		e, _ := failure(t, model.Hasty(model.New(model.Endpoint{Name: "p", Dialect: d, BaseURL: "http://user:pass-word-1@127.0.0.1:1/v1?key=query-secret", Key: "a b\nc"}, "m", able)), hello())
		if strings.Contains(e.Error(), "pass-word-1") || strings.Contains(e.Error(), "query-secret") || strings.Contains(e.Error(), "a b") {
			t.Errorf("%q holds a secret", e)
		}
	})
}

func TestALongRefusalIsCut(t *testing.T) {
	s, m := start(t, model.OpenAI)
	s.Reply(modeltest.Fail(400, strings.Repeat("long ", 1<<20)))
	if e, _ := failure(t, m, hello()); len(e.Error()) > 2000 {
		t.Errorf("the error has %d bytes", len(e.Error()))
	}
}

func TestAnswersThatAreNoStreams(t *testing.T) {
	for body, want := range map[string]model.Kind{`{"error":{"message":"invalid","type":"invalid_request_error"}}`: model.BadRequest, `{"choices":[]}`: model.Broken, "<html>": model.Broken} {
		s, m := start(t, model.OpenAI)
		kind := "application/json"
		if body[0] == '<' {
			kind = "text/html"
		}
		s.Reply(modeltest.Fail(200, body, "Content-Type", kind))
		if e, _ := failure(t, m, hello()); e.Kind != want || e.Hint == "" {
			t.Errorf("%s is %q: %v", body, e.Kind, e)
		}
	}
}

func TestBaseURLs(t *testing.T) {
	for _, base := range []string{"", "ftp://host/v1", "no url", "http://", "http://ho st"} {
		e, _ := failure(t, model.New(model.Endpoint{Name: "p", Dialect: model.OpenAI, BaseURL: base}, "m", able), hello())
		if !strings.Contains(e.Error(), "base_url") {
			t.Errorf("%q: %v", base, e)
		}
	}
	dialects(t, func(t *testing.T, d model.Dialect) {
		for _, suffix := range []string{"", "/", "/v1", "/v1/"} {
			s, m := start(t, d, func(e *model.Endpoint) { e.BaseURL = strings.TrimSuffix(e.BaseURL, "/v1") + suffix })
			s.Reply(modeltest.Text("ok"))
			if got := ask(t, m, hello()); got.err != nil {
				t.Errorf("%q: %v", suffix, got.err)
			}
		}
	})
}

func TestACancelEndsAnAnswer(t *testing.T) {
	dialects(t, func(t *testing.T, d model.Dialect) {
		for name, parts := range map[string][]modeltest.Part{
			"before a word": {modeltest.Stall()},
			"in the middle": {modeltest.Text("word"), modeltest.Stall()},
			"while waiting": {modeltest.Fail(429, refusalBody, "Retry-After", "50")},
		} {
			s, m := start(t, d)
			s.Reply(parts...)
			ctx, cancel := context.WithCancel(t.Context())
			if name == "before a word" {
				time.AfterFunc(20*time.Millisecond, cancel)
			}
			var began time.Time
			var last error
			for _, err := range m.Stream(ctx, hello()) {
				last = err
				if began.IsZero() {
					began = time.Now()
					cancel()
				}
			}
			cancel()
			if last != context.Canceled {
				t.Errorf("%s: it ended with %v", name, last)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("%s: it took %s", name, took)
			}
		}
	})
}

func TestAConsumerMayBreakOff(t *testing.T) {
	dialects(t, func(t *testing.T, d model.Dialect) {
		s, m := start(t, d)
		s.Reply(modeltest.Text("one two three"), modeltest.Call("ping", "{}"), modeltest.Stall())
		for chunk := range m.Stream(t.Context(), hello()) {
			if chunk == model.Text("one ") {
				break
			}
		}
	})
}

func TestAnUnreachableServerIsSaidToBe(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	e, got := failure(t, model.Hasty(model.New(model.Endpoint{Name: "mine", Dialect: model.OpenAI, BaseURL: closed.URL}, "m", able)), hello())
	if e.Kind != model.Network || !strings.Contains(e.Error(), strings.TrimPrefix(closed.URL, "http://")) || len(got.retries) != 3 {
		t.Errorf("%q after %d retries: %v", e.Kind, len(got.retries), e)
	}
}

func TestForeignCertificatesAreRefused(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains of our refusal
	s.StartTLS()
	defer s.Close()
	e, got := failure(t, model.New(model.Endpoint{Name: "mine", Dialect: model.OpenAI, BaseURL: s.URL}, "m", able), hello())
	if e.Kind != model.Network || !strings.Contains(e.Error(), "SSL_CERT_FILE") || len(got.retries) != 0 {
		t.Errorf("%q after %d retries: %v", e.Kind, len(got.retries), e)
	}
}

func TestProbe(t *testing.T) {
	s := modeltest.New(t, model.OpenAI)
	if got, err := model.Probe(t.Context(), s.URL()); err != nil || len(got) != 1 || got[0] != "test-model" {
		t.Errorf("found %v, %v", got, err)
	}
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>hello")) }))
	defer other.Close()
	if got, err := model.Probe(t.Context(), other.URL+"/v1"); err == nil {
		t.Errorf("any web server counts as one: %v", got)
	}
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := model.Probe(ctx, silent.URL); err == nil {
		t.Error("a silent port counts as one")
	}
}
