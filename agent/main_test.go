package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"nimlet/agent"
	"nimlet/agent/model"
	"nimlet/session"
	"nimlet/tooling"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A reply is how a script answers one request.
type reply = func(ctx context.Context, yield func(model.Chunk, error) bool)

// A script answers one request after another; it stands in for a language model. A request beyond
// its end is an error, so that a turn that asks too often fails.
type script struct {
	mu       sync.Mutex
	answers  []reply
	requests []model.Request
}

func (s *script) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	if len(s.answers) == 0 {
		return func(yield func(model.Chunk, error) bool) {
			yield(nil, fmt.Errorf("request %d is beyond the script", len(s.requests)))
		}
	}
	next := s.answers[0]
	s.answers = s.answers[1:]
	return func(yield func(model.Chunk, error) bool) { next(ctx, yield) }
}

// say answers with chunks.
func say(chunks ...model.Chunk) reply {
	return func(_ context.Context, yield func(model.Chunk, error) bool) {
		for _, c := range chunks {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// breakOff answers with chunks and then fails.
func breakOff(err error, chunks ...model.Chunk) reply {
	return func(ctx context.Context, yield func(model.Chunk, error) bool) {
		for _, c := range chunks {
			if !yield(c, nil) {
				return
			}
		}
		yield(nil, err)
	}
}

// hang answers with chunks and then waits for the end of its context.
func hang(reached chan<- struct{}, chunks ...model.Chunk) reply {
	return func(ctx context.Context, yield func(model.Chunk, error) bool) {
		for _, c := range chunks {
			if !yield(c, nil) {
				return
			}
		}
		close(reached)
		<-ctx.Done()
		yield(nil, ctx.Err())
	}
}

func call(id, name, input string) model.ToolCall {
	return model.ToolCall{Call: session.Call{ID: id, Name: name, Input: json.RawMessage(input)}}
}

// A tool is a tooling.Tool made of a func.
type tool struct {
	spec tooling.Spec
	run  func(context.Context, tooling.Env, session.Call) (session.Result, error)
}

func (t tool) Spec() tooling.Spec { return t.spec }
func (t tool) Run(ctx context.Context, env tooling.Env, c session.Call) (session.Result, error) {
	return t.run(ctx, env, c)
}
func (t tool) Permission(session.Call) tooling.Need { return tooling.Need{Free: true} }

const anyObject = `{"type":"object","properties":{"n":{"type":"integer"}}}`

// looks is a tool that only reads and may run beside others; works is one that changes things.
func looks(name string, run func(context.Context, tooling.Env, session.Call) (session.Result, error)) tool {
	return tool{tooling.Spec{Name: name, Schema: json.RawMessage(anyObject), Parallel: true, Capabilities: []tooling.Capability{tooling.Read}}, run}
}

func works(name string, run func(context.Context, tooling.Env, session.Call) (session.Result, error)) tool {
	return tool{tooling.Spec{Name: name, Schema: json.RawMessage(anyObject)}, run}
}

func says(text string) func(context.Context, tooling.Env, session.Call) (session.Result, error) {
	return func(context.Context, tooling.Env, session.Call) (session.Result, error) {
		return session.Result{Output: text}, nil
	}
}

// A bench is an agent with what it works on, and a record of what it showed.
type bench struct {
	*agent.Agent
	store *session.Store
	tools *tooling.Registry
	model *script
	on    func(agent.Event) // told of each event; optional, set between turns

	mu     sync.Mutex
	events []agent.Event
}

func (b *bench) emit(e agent.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, e)
	if b.on != nil {
		b.on(e)
	}
}

func (b *bench) shown() []agent.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]agent.Event(nil), b.events...)
}

func newBench(t testing.TB, change func(*agent.Config), m *script, tools ...tooling.Tool) *bench {
	t.Helper()
	b := &bench{model: m, store: session.InMemory(session.Header{ID: "1", Workspace: "/w", Created: time.Unix(1, 0)})}
	registry, warnings := tooling.NewRegistry(tools, nil)
	if len(warnings) > 0 {
		t.Fatal(warnings)
	}
	b.tools = registry
	c := agent.Config{
		Log: b.store, Model: m, Tools: registry, Emit: b.emit,
		Permissions: tooling.NewPermissions(tooling.PermissionsConfig{Folder: "/w"}), Logger: zap.NewNop(),
		Identity: func() (string, string) { return "test", "script" }, Window: func() int { return 1000 },
	}
	if change != nil {
		change(&c)
	}
	b.Agent = agent.New(c)
	t.Cleanup(func() {
		if err := b.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func prompt(text string) []session.Part { return []session.Part{session.Text{Text: text}} }

// turn runs one and checks how it ended.
func (b *bench) turn(t *testing.T, text string, want agent.Reason) {
	t.Helper()
	reason, err := b.Turn(t.Context(), prompt(text))
	if reason != want || (err != nil) != (want == agent.Failed) {
		t.Fatalf("Turn(%q) = %q, %v; want %q", text, reason, err, want)
	}
}

// checkClosed fails when a call that was shown was not closed exactly once, or the conversation
// is not one a provider takes.
func (b *bench) checkClosed(t *testing.T) {
	t.Helper()
	open := map[string]bool{}
	for _, e := range b.shown() {
		switch e := e.(type) {
		case agent.ToolStarted:
			open[e.Call.ID] = true
		case agent.ToolFinished:
			if !open[e.Call.ID] {
				t.Errorf("call %s was closed twice, or never opened", e.Call.ID)
			}
			delete(open, e.Call.ID)
		case agent.TurnEnded:
			if len(open) > 0 {
				t.Errorf("calls still open at the end of the turn: %v", open)
			}
		}
	}
	checkPairs(t, b.store.Messages())
}

func checkPairs(t *testing.T, messages []session.Message) {
	t.Helper()
	var owed []string
	for i, m := range messages {
		var answers []string
		for _, p := range m.Content {
			if out, ok := p.(session.ToolOutput); ok {
				answers = append(answers, out.ToolUseID)
			}
		}
		if fmt.Sprint(answers) != fmt.Sprint(owed) {
			t.Errorf("message %d answers %v, the calls before it were %v", i, answers, owed)
		}
		owed = nil
		for _, p := range m.Content {
			if use, ok := p.(session.ToolUse); ok {
				owed = append(owed, use.ID)
			}
		}
	}
	if len(owed) > 0 {
		t.Errorf("calls without a result: %v", owed)
	}
}
