package modeltest

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"nimlet/agent/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A recorder is a test that keeps what it is told instead of failing.
type recorder struct {
	testing.TB
	said []string
}

func (r *recorder) Error(args ...any) { r.said = append(r.said, fmt.Sprint(args...)) }
func (r *recorder) Errorf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

// post sends messages to a server of d and returns what it complains of.
func post(t *testing.T, d model.Dialect, bodies ...string) []string {
	t.Helper()
	r := &recorder{TB: t}
	s := New(r, d)
	for _, body := range bodies {
		s.Reply(Text("ok"))
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+map[model.Dialect]string{model.Anthropic: "/messages", model.OpenAI: "/chat/completions"}[d], strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Anthropic-Version", "2023-06-01")
		request.Header.Set("X-Api-Key", Key)
		request.Header.Set("Authorization", "Bearer "+Key)
		response, err := s.http.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
	return r.said
}

// TestTheChecksBite feeds the server requests that providers refuse: a check that has gone blind is noticed.
func TestTheChecksBite(t *testing.T) {
	anthropic := func(messages string) string {
		return `{"model":"m","stream":true,"max_tokens":9000,"messages":[` + messages + `]}`
	}
	openai := func(messages string) string { return `{"model":"m","stream":true,"messages":[` + messages + `]}` }
	const (
		user  = `{"role":"user","content":[{"type":"text","text":"a"}]}`
		use   = `{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"n","input":{}}]}`
		out   = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"r"}]}]}`
		late  = `{"role":"user","content":[{"type":"text","text":"b"},{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"r"}]}]}`
		think = `{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"foreign"},{"type":"text","text":"x"}]}`
		ask   = `{"role":"user","content":"a"}`
		call  = `{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"n","arguments":"{}"}}]}`
		tool  = `{"role":"tool","tool_call_id":"1","content":"r"}`
	)
	for name, test := range map[string]struct {
		dialect model.Dialect
		bodies  []string
		want    string // "" for no complaint
	}{
		"fine":               {model.Anthropic, []string{anthropic(user), anthropic(user + "," + use + "," + out)}, ""},
		"no JSON":            {model.Anthropic, []string{"{"}, "no JSON"},
		"unknown field":      {model.Anthropic, []string{`{"x":1,` + anthropic(user)[1:]}, "dialect"},
		"no limit":           {model.Anthropic, []string{strings.Replace(anthropic(user), `"max_tokens":9000,`, "", 1)}, "dialect"},
		"blank":              {model.Anthropic, []string{anthropic(strings.Replace(user, `"a"`, `" "`, 1))}, "blank"},
		"ends with answer":   {model.Anthropic, []string{anthropic(user + "," + use)}, "no result"},
		"no result":          {model.Anthropic, []string{anthropic(user + "," + use + "," + user)}, "have no result"},
		"orphan":             {model.Anthropic, []string{anthropic(out)}, "answers"},
		"result too late":    {model.Anthropic, []string{anthropic(user + "," + use + "," + late)}, "have no result"},
		"same role":          {model.Anthropic, []string{anthropic(user + "," + user)}, "both of the user"},
		"foreign thought":    {model.Anthropic, []string{anthropic(user + "," + think + "," + user)}, "not of this server"},
		"id used again":      {model.Anthropic, []string{anthropic(strings.Join([]string{user, use, out, use, out}, ","))}, "not the first"},
		"changed":            {model.Anthropic, []string{anthropic(user + "," + use + "," + out), anthropic(user + "," + strings.Replace(use, `"n"`, `"m"`, 1) + "," + out)}, "is now"},
		"shrunk":             {model.Anthropic, []string{anthropic(user + "," + use + "," + out), anthropic(user)}, "shrunk"},
		"too many marks":     {model.Anthropic, []string{anthropic(`{"role":"user","content":[` + strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},`, 5), ",") + `]}`)}, "marked"},
		"budget, no thought": {model.Anthropic, []string{`{"thinking":{"type":"enabled","budget_tokens":2000},` + anthropic(user + "," + use + "," + out)[1:]}, "begin with a thought"},
		"budget too large":   {model.Anthropic, []string{`{"thinking":{"type":"enabled","budget_tokens":9000},` + anthropic(user)[1:]}, "budget"},
		"fine, openai":       {model.OpenAI, []string{openai(ask), openai(ask + "," + call + "," + tool)}, ""},
		"no result, openai":  {model.OpenAI, []string{openai(ask + "," + call + "," + ask)}, "have no result"},
		"orphan, openai":     {model.OpenAI, []string{openai(ask + "," + tool)}, "answers"},
		"bad arguments":      {model.OpenAI, []string{openai(ask + "," + strings.Replace(call, `"{}"`, `"[]"`, 1) + "," + tool)}, "no object"},
		"changed, openai":    {model.OpenAI, []string{openai(ask + "," + call + "," + tool), openai(ask + "," + call + "," + strings.Replace(tool, `"r"`, `"s"`, 1))}, "is now"},
	} {
		t.Run(name, func(t *testing.T) {
			said := strings.Join(post(t, test.dialect, test.bodies...), "\n")
			if test.want == "" && said != "" || !strings.Contains(said, test.want) {
				t.Errorf("it says %q, want %q", said, test.want)
			}
		})
	}
}
