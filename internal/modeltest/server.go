// Package modeltest is a language model for tests: a server that speaks a provider's dialect over real
// HTTP, answers what the test has scripted, misbehaves on request, and checks all it is sent.
//
//	s := modeltest.New(t, model.Anthropic)
//	s.Reply(modeltest.Text("I look."), modeltest.Call("read", `{"path":"a.go"}`))
//	s.Reply(modeltest.Text("Done."))
//	m := model.New(s.Endpoint(), "some-model", abilities)
//
// Each Reply answers one request, in order; a request beyond the last one fails the test. So does a
// request that a real provider would refuse (check.go has the rules), and one that continues a
// conversation without repeating what was sent before, which no provider's cache would find.
package modeltest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"nimlet/agent/model"
)

// Key is what a request must carry. It is told apart from all else, so that a test can look for it.
const Key = "canary-key-4f1d9b7c2e"

// A Server answers requests. Its methods may be called from any goroutine.
type Server struct {
	t       testing.TB
	dialect model.Dialect
	http    *httptest.Server
	schema  schema

	mu         sync.Mutex
	replies    []reply
	requests   []Request
	signatures map[string]bool    // given out so far
	sent       map[string][]Piece // the last request of each conversation, by its first piece
}

// A Request is one that was received.
type Request struct {
	Header http.Header
	Raw    []byte
	Body   map[string]any
	Pieces []Piece // the conversation in it
}

// New starts a server that ends with the test, which fails if a reply was not asked for.
func New(t testing.TB, dialect model.Dialect) *Server {
	t.Helper()
	s := &Server{t: t, dialect: dialect, schema: compile(t, dialect), signatures: map[string]bool{}, sent: map[string][]Piece{}}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		s.http.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		if left := len(s.replies); left > 0 && !t.Failed() {
			t.Errorf("%d replies of the model were not asked for", left)
		}
	})
	return s
}

// Endpoint returns how the server is reached, under the name of its dialect.
func (s *Server) Endpoint() model.Endpoint {
	return model.Endpoint{Name: string(s.dialect), Dialect: s.dialect, BaseURL: s.URL(), Key: Key,
		KeyHint: "set MODELTEST_API_KEY", Client: s.http.Client()}
}

// URL returns the base URL.
func (s *Server) URL() string { return s.http.URL + "/v1" }

// Reply scripts the answer to the next request that has none yet.
func (s *Server) Reply(parts ...Part) {
	var r reply
	for _, part := range parts {
		part(&r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies = append(s.replies, r)
}

// Requests returns what was received so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/models") {
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"test-model","object":"model"}]}`)
		return
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went away
	}
	answer, ok := s.receive(r, raw)
	if !ok {
		http.Error(w, `{"error":{"message":"the script has no more replies","type":"invalid_request_error"}}`, http.StatusBadRequest)
		return
	}
	answer.write(w, r, s.dialect)
}

// receive checks a request, keeps it and returns the reply to it.
func (s *Server) receive(r *http.Request, raw []byte) (reply, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	request := Request{Header: r.Header.Clone(), Raw: raw}
	s.checkHTTP(r)
	if err := json.Unmarshal(raw, &request.Body); err != nil {
		s.t.Errorf("request %d is no JSON object: %v", len(s.requests)+1, err)
	} else {
		s.checkBody(&request)
	}
	s.requests = append(s.requests, request)
	if len(s.replies) == 0 {
		s.t.Errorf("request %d is beyond the script", len(s.requests))
		return reply{}, false
	}
	next := s.replies[0]
	s.replies = s.replies[1:]
	for _, b := range next.blocks {
		if b.signature != "" {
			s.signatures[b.signature] = true
		}
	}
	return next, true
}
