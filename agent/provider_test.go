package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"nimlet/agent"
	"nimlet/agent/model"
	"nimlet/internal/modeltest"
	"nimlet/session"
	"nimlet/tooling"
)

// providers runs a test with a real model of each dialect behind the agent.
func providers(t *testing.T, test func(t *testing.T, s *modeltest.Server, b *bench)) {
	for _, d := range []model.Dialect{model.Anthropic, model.OpenAI} {
		t.Run(string(d), func(t *testing.T) {
			s := modeltest.New(t, d)
			e := s.Endpoint()
			e.Timeout = time.Minute
			b := newBench(t, func(c *agent.Config) {
				c.Model = model.New(e, "test-model", model.Abilities{Images: true, Tools: true, Thinking: true})
			}, nil, looks("peek", says("seen")), works("poke", func(_ context.Context, _ tooling.Env, c session.Call) (session.Result, error) {
				return session.Result{Output: string(c.Input)}, nil
			}))
			test(t, s, b)
		})
	}
}

func TestATurnGoesThroughAProvider(t *testing.T) {
	providers(t, func(t *testing.T, s *modeltest.Server, b *bench) {
		s.Reply(modeltest.Think("both", "sig"), modeltest.Text("I look."), modeltest.Call("peek", `{"n":1}`), modeltest.Call("poke", `{"n":2}`), modeltest.Usage(5, 6, 7, 0))
		s.Reply(modeltest.Call("poke", `{"n":`), modeltest.CallID("", "no_such_tool", ""))
		s.Reply(modeltest.Text("Done."))
		b.turn(t, "look", agent.Completed)
		s.Reply(modeltest.Text("Again."))
		b.turn(t, "and again", agent.Completed)
		b.checkClosed(t)
		pieces := s.Requests()[2].Pieces
		if last := pieces[len(pieces)-2]; last.Kind != "result" || !strings.Contains(last.Text, "not a JSON object") {
			t.Errorf("malformed arguments are answered by %+v", last)
		}
	})
}

// TestAFailureOfTheProviderFailsTheTurn has each failure once before and once after the first word,
// and a turn after it that must work.
func TestAFailureOfTheProviderFailsTheTurn(t *testing.T) {
	const body = `{"error":{"message":"What the provider says."}}`
	for name, fault := range map[string]modeltest.Part{
		"400": modeltest.Fail(400, body), "401": modeltest.Fail(401, body), "429": modeltest.Fail(429, body, "Retry-After", "999"),
		"too long": modeltest.Fail(400, `{"error":{"message":"prompt is too long"}}`), "cut": modeltest.HangUp(), "no end": modeltest.CleanEnd(),
		"garbage": modeltest.Garbage(), "overloaded": modeltest.ErrorEvent("overloaded_error", "What the provider says."), "empty": modeltest.Text(""),
	} {
		t.Run(name, func(t *testing.T) {
			providers(t, func(t *testing.T, s *modeltest.Server, b *bench) {
				s.Reply(modeltest.Text(map[bool]string{true: "", false: "half "}[name == "empty"]), fault)
				reason, err := b.Turn(t.Context(), prompt("one"))
				if reason != agent.Failed || err == nil || !strings.Contains(err.Error(), "; ") {
					t.Errorf("the turn ended with %q, %v", reason, err)
				}
				if strings.Contains(name, "4") && !strings.Contains(err.Error(), "What the provider says") {
					t.Errorf("%v lacks the provider's sentence", err)
				}
				for _, e := range b.store.All() {
					if a, ok := e.(session.Assistant); ok && len(a.Content) == 0 {
						t.Error("an empty answer was stored")
					}
				}
				s.Reply(modeltest.Text("Now it works."))
				b.turn(t, "two", agent.Completed)
			})
		})
	}
}

func TestARetryIsShown(t *testing.T) {
	providers(t, func(t *testing.T, s *modeltest.Server, b *bench) {
		s.Reply(modeltest.Fail(529, `{"error":{"message":"Overloaded just now"}}`, "Retry-After", "0"))
		s.Reply(modeltest.Text("here"))
		b.turn(t, "hello", agent.Completed)
		var notices []agent.Notice
		for _, e := range b.shown() {
			if n, ok := e.(agent.Notice); ok {
				notices = append(notices, n)
			}
		}
		if len(notices) != 1 || notices[0].Level != agent.Info || !strings.Contains(notices[0].Text, "Overloaded just now") || !strings.Contains(notices[0].Title, "attempt 2") {
			t.Errorf("shown: %+v", notices)
		}
	})
}

func TestACancelReachesTheProvider(t *testing.T) {
	providers(t, func(t *testing.T, s *modeltest.Server, b *bench) {
		s.Reply(modeltest.Text("half an answer"), modeltest.Stall())
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		b.on = func(e agent.Event) {
			if _, ok := e.(agent.TextDelta); ok {
				cancel()
			}
		}
		reason, err := b.Turn(ctx, prompt("hello"))
		b.on = nil
		if reason != agent.Cancelled || err != nil {
			t.Errorf("the turn ended with %q, %v", reason, err)
		}
		s.Reply(modeltest.Text("whole"))
		b.turn(t, "again", agent.Completed)
	})
}

// TestASessionCutAnywhereIsARequest has a compaction keep every possible tail of a session full of calls.
func TestASessionCutAnywhereIsARequest(t *testing.T) {
	var events []session.Event
	for i := range 3 {
		events = append(events, session.User{Content: prompt(fmt.Sprint("question ", i))})
		var uses []session.Part
		for j := range 2 {
			uses = append(uses, session.ToolUse{Call: session.Call{ID: fmt.Sprint(i, "_", j), Name: "peek", Input: json.RawMessage("{}")}})
		}
		events = append(events, session.Assistant{Content: uses})
		for j := range 2 {
			events = append(events, session.ToolResult{ID: fmt.Sprint(i, "_", j), Output: "seen"})
		}
		events = append(events, session.Assistant{Content: prompt("answer")})
	}
	for cut := range len(events) + 1 {
		providers(t, func(t *testing.T, s *modeltest.Server, b *bench) {
			s.Reply(modeltest.Text("fine"))
			if err := b.store.Append(append(events[:len(events):len(events)], session.Compaction{Summary: "before", FirstKeptIndex: cut})...); err != nil {
				t.Fatal(err)
			}
			b.turn(t, "go on", agent.Completed)
		})
	}
}
