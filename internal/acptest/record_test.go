package acptest

import (
	"strings"
	"testing"
)

func TestARecordFindsWhatAnAgentMayNotSend(t *testing.T) {
	const prompt = `{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{}}`
	for _, test := range []struct{ name, line, want string }{
		{"a good answer", `{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}`, ""},
		{"an error", `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}`, ""},
		{"an extension", `{"jsonrpc":"2.0","method":"_mine/x","params":{"a":1}}`, ""},
		{"text", `hello`, "no JSON-RPC message"},
		{"no version", `{"id":1,"result":{"stopReason":"end_turn"}}`, "no JSON-RPC message"},
		{"a stop reason of its own", `{"jsonrpc":"2.0","id":1,"result":{"stopReason":"tired"}}`, "stopReason"},
		{"an answer to nothing", `{"jsonrpc":"2.0","id":2,"result":{}}`, "nobody waits"},
		{"an unknown request", `{"jsonrpc":"2.0","id":2,"method":"session/think","params":{}}`, "no Request"},
		{"an update kind of its own", `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"_x"}}}`, "update"},
		{"an error without words", `{"jsonrpc":"2.0","id":1,"error":{"code":1}}`, "without a message"},
	} {
		r, err := NewRecord()
		if err != nil {
			t.Fatal(err)
		}
		r.Client([]byte(prompt))
		got := ""
		if err := r.Agent([]byte(test.line)); err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, test.want) || (test.want == "") != (got == "") {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestARecordKnowsWhatWasNotAnswered(t *testing.T) {
	r, err := NewRecord()
	if err != nil {
		t.Fatal(err)
	}
	r.Client([]byte(`{"jsonrpc":"2.0","id":1,"method":"session/prompt"}`))
	r.Client([]byte(`{"jsonrpc":"2.0","method":"session/cancel"}`))
	if open := r.Unanswered(); len(open) != 1 || open[0] != "session/prompt" {
		t.Errorf("unanswered: %v", open)
	}
	if err := r.Agent([]byte(`{"jsonrpc":"2.0","id":1,"result":{"stopReason":"cancelled"}}`)); err != nil {
		t.Error(err)
	}
	if open := r.Unanswered(); len(open) != 0 {
		t.Errorf("unanswered: %v", open)
	}
}
