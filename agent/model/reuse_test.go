package model_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"nimlet/agent/model"
	"nimlet/session"
)

// answerer serves one short answer again and again, and counts the connections it was asked on. With
// hold it keeps the line open after the answer's end, until the client hangs up.
func answerer(t *testing.T, hold bool) (model.Model, *atomic.Int32) {
	t.Helper()
	connections := new(atomic.Int32)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		w.(http.Flusher).Flush()
		if hold {
			<-r.Context().Done()
		}
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.Start()
	transport := &http.Transport{}
	t.Cleanup(s.Close)
	t.Cleanup(transport.CloseIdleConnections)
	e := model.Endpoint{Name: "test", Dialect: model.OpenAI, BaseURL: s.URL, Client: &http.Client{Transport: transport}}
	return model.New(e, "m", model.Abilities{}), connections
}

func answerOnce(t *testing.T, m model.Model) {
	t.Helper()
	r := model.Request{Messages: []session.Message{{Role: session.RoleUser, Content: []session.Part{session.Text{Text: "hi"}}}}}
	for _, err := range m.Stream(t.Context(), r) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestRequestsThatFollowEachOtherShareAConnection(t *testing.T) {
	m, connections := answerer(t, false)
	for range 5 {
		answerOnce(t, m)
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("5 requests took %d connections", n)
	}
}

func TestALineThatIsHeldOpenAfterTheAnswerDelaysNothing(t *testing.T) {
	m, _ := answerer(t, true)
	done := make(chan struct{})
	go func() { defer close(done); answerOnce(t, m) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("the answer waits for the end of the connection")
	}
}
