package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nimlet/agent"
	"nimlet/agent/model"
	"nimlet/session"
	"nimlet/tooling"
)

// outline names the events of a turn, so that their order can be compared.
func outline(events []agent.Event) []string {
	var list []string
	for _, e := range events {
		switch e := e.(type) {
		case agent.TextDelta:
			list = append(list, "text "+e.Text)
		case agent.ThoughtDelta:
			list = append(list, "thought "+e.Text)
		case agent.UserMessage:
			list = append(list, "user "+agent.FirstText(e.Content))
		case agent.ToolStarted:
			list = append(list, "started "+e.Call.ID)
		case agent.ToolChanged:
			list = append(list, "changed "+e.Call.ID+" "+string(e.Call.Input))
		case agent.ToolRunning:
			list = append(list, "running "+e.CallID)
		case agent.ToolFinished:
			list = append(list, fmt.Sprintf("finished %s error=%t %s", e.Call.ID, e.Result.IsError, e.Result.Output))
		case agent.Notice:
			list = append(list, "notice "+e.Title)
		case agent.TurnStarted:
			list = append(list, "turn")
		case agent.TurnEnded:
			list = append(list, "end "+string(e.Reason))
		}
	}
	return list
}

func (b *bench) checkOutline(t *testing.T, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, outline(b.shown())); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
}

func TestTurnAsksRunsAndAsksAgain(t *testing.T) {
	m := &script{answers: []reply{
		say(model.Thinking{Text: "hm"}, model.Text("I look."), call("1", "look", `{"n":1}`), model.Stop{Reason: model.ToolCalls}),
		say(model.Text("Done."), model.Stop{Reason: model.EndTurn}),
	}}
	b := newBench(t, nil, m, looks("look", says("seen")))
	b.turn(t, "go", agent.Completed)
	b.checkOutline(t, "turn", "thought hm", "text I look.", "started 1", "running 1", "finished 1 error=false seen", "text Done.", "end completed")
	b.checkClosed(t)
	if got := len(m.requests); got != 2 {
		t.Fatalf("%d model requests, want 2", got)
	}
	last := m.requests[1].Messages
	if out := last[len(last)-1].Content[0]; !cmp.Equal(out, session.Part(session.ToolOutput{ToolUseID: "1", Content: "seen"})) {
		t.Errorf("the second request ends with %#v", out)
	}
}

func TestReadersRunSideBySideAndOthersInOrder(t *testing.T) {
	var meet sync.WaitGroup
	meet.Add(2)
	reader := looks("look", func(context.Context, tooling.Env, session.Call) (session.Result, error) {
		meet.Done()
		meet.Wait() // hangs unless both are running
		return session.Result{Output: "seen"}, nil
	})
	var order []string
	worker := works("work", func(_ context.Context, _ tooling.Env, c session.Call) (session.Result, error) {
		order = append(order, c.ID) // the race detector tells if two run at once
		return session.Result{Output: "done"}, nil
	})
	m := &script{answers: []reply{
		say(call("w1", "work", `{}`), call("r1", "look", `{}`), call("r2", "look", `{}`), call("w2", "work", `{}`)),
		say(model.Text("ok")),
	}}
	b := newBench(t, nil, m, reader, worker)
	b.turn(t, "go", agent.Completed)
	b.checkClosed(t)
	if got := strings.Join(order, " "); got != "w1 w2" {
		t.Errorf("workers ran in the order %s", got)
	}
}

func TestSixtyCallsOfOneStepAreAllClosed(t *testing.T) {
	var chunks []model.Chunk
	for i := range 60 {
		name := []string{"look", "work", "nosuch"}[i%3]
		chunks = append(chunks, call(fmt.Sprint(i), name, `{}`))
	}
	m := &script{answers: []reply{say(chunks...), say(model.Text("ok"))}}
	b := newBench(t, nil, m, looks("look", says("seen")), works("work", says("done")))
	b.turn(t, "go", agent.Completed)
	b.checkClosed(t)
}

func TestACallThatCannotRunIsToldToTheModel(t *testing.T) {
	fails := works("fails", func(context.Context, tooling.Env, session.Call) (session.Result, error) {
		return session.Result{}, errors.New("the disk is on fire")
	})
	panics := works("panics", func(context.Context, tooling.Env, session.Call) (session.Result, error) { panic("oops") })
	broken := call("1", "work", `{}`)
	broken.ParseError = "unexpected end"
	for name, c := range map[string]struct {
		call model.ToolCall
		want string
	}{
		"unknown tool":   {call("1", "nosuch", `{}`), "no tool named \"nosuch\""},
		"no JSON object": {broken, "not a JSON object: unexpected end"},
		"against schema": {call("1", "work", `{"n":"x"}`), "n: expected integer"},
		"failing tool":   {call("1", "fails", `{}`), "running fails: the disk is on fire"},
		"panicking tool": {call("1", "panics", `{}`), "failed inside nimlet: oops"},
	} {
		t.Run(name, func(t *testing.T) {
			m := &script{answers: []reply{say(c.call), say(model.Text("I see"))}}
			b := newBench(t, nil, m, works("work", says("done")), fails, panics)
			b.turn(t, "go", agent.Completed)
			b.checkClosed(t)
			messages := m.requests[1].Messages
			out := messages[len(messages)-1].Content[0].(session.ToolOutput)
			if !out.IsError || !strings.Contains(out.Content, c.want) {
				t.Errorf("the model is told %q (error %t), want something with %q", out.Content, out.IsError, c.want)
			}
		})
	}
}

func TestPlanModeRefusesToolsThatChangeThings(t *testing.T) {
	m := &script{answers: []reply{
		say(call("1", "work", `{}`), call("2", "look", `{}`)), say(model.Text("a plan")),
	}}
	b := newBench(t, func(c *agent.Config) { c.Mode = agent.Plan }, m, works("work", says("done")), looks("look", says("seen")))
	b.turn(t, "go", agent.Completed)
	b.checkClosed(t)
	if got := m.requests[0].Tools; len(got) != 1 || got[0].Name != "look" {
		t.Errorf("plan mode offers %v, want look alone", got)
	}
	list := strings.Join(outline(b.shown()), "\n")
	if !strings.Contains(list, "finished 1 error=true work is not available in plan mode") || !strings.Contains(list, "finished 2 error=false seen") {
		t.Error(list)
	}
}

func TestModeChangeDuringATurnHoldsFromTheNextCall(t *testing.T) {
	var b *bench
	first := works("work", func(context.Context, tooling.Env, session.Call) (session.Result, error) {
		return session.Result{Output: "done"}, b.SetMode(agent.Plan)
	})
	m := &script{answers: []reply{
		say(call("1", "work", `{}`), call("2", "work", `{}`)), say(model.Text("ok")),
	}}
	b = newBench(t, nil, m, first)
	b.turn(t, "go", agent.Completed)
	list := strings.Join(outline(b.shown()), "\n")
	if !strings.Contains(list, "finished 1 error=false") || !strings.Contains(list, "finished 2 error=true work is not available in plan mode") {
		t.Error(list)
	}
	if b.store.Mode() != "plan" {
		t.Errorf("the session notes mode %q, want plan", b.store.Mode())
	}
}

func TestAFailedAnswerKeepsItsTextAndIsNoSuccess(t *testing.T) {
	sorry := errors.New("529 the provider is overloaded")
	for name, c := range map[string]struct {
		answer reply
		kept   int // events after the user's
	}{
		"before any text":  {breakOff(sorry), 1},
		"after some text":  {breakOff(sorry, model.Text("Let me ")), 2},
		"after a call":     {breakOff(sorry, call("1", "work", `{}`)), 1},
		"after empty text": {breakOff(sorry, model.Text("")), 1},
	} {
		t.Run(name, func(t *testing.T) {
			m := &script{answers: []reply{c.answer, say(model.Text("back"))}}
			b := newBench(t, nil, m, works("work", says("done")))
			_, err := b.Turn(t.Context(), prompt("go"))
			if !errors.Is(err, sorry) {
				t.Errorf("the turn's error is %v, want the provider's", err)
			}
			if got := b.store.Len() - 1; got != c.kept {
				t.Errorf("%d events were kept of the failed answer, want %d", got, c.kept)
			}
			for _, e := range b.store.All() {
				if a, ok := e.(session.Assistant); ok && len(a.Content) == 0 {
					t.Error("an empty answer was kept")
				}
			}
			b.checkClosed(t)
			b.turn(t, "again", agent.Completed)
		})
	}
}

func TestAnEmptyAnswerIsSaid(t *testing.T) {
	m := &script{answers: []reply{say(model.Stop{Reason: model.EndTurn})}}
	b := newBench(t, nil, m)
	b.turn(t, "go", agent.Completed)
	b.checkOutline(t, "turn", "text (no output)", "end completed")
	if b.store.Len() != 1 {
		t.Errorf("the session has %d events, want the user's alone", b.store.Len())
	}
}

func TestStepsRunOut(t *testing.T) {
	again := say(call("1", "look", `{}`))
	m := &script{answers: []reply{again, again, again}}
	b := newBench(t, func(c *agent.Config) { c.MaxSteps = 2 }, m, looks("look", says("seen")))
	b.turn(t, "go", agent.MaxSteps)
	if list := strings.Join(outline(b.shown()), "\n"); !strings.Contains(list, "notice Stopped after 2 model requests") {
		t.Error(list)
	}
}

func TestSteeringEntersAfterTheCallsAndFollowUpsWhereTheTurnWouldEnd(t *testing.T) {
	var b *bench
	look := looks("look", func(context.Context, tooling.Env, session.Call) (session.Result, error) {
		b.Steer(prompt("left"))
		b.FollowUp(prompt("then this"))
		b.FollowUp(prompt("and that"))
		return session.Result{Output: "seen"}, nil
	})
	m := &script{answers: []reply{
		say(call("1", "look", `{}`)), say(model.Text("a")), say(model.Text("b")), say(model.Text("c")),
	}}
	b = newBench(t, nil, m, look)
	b.turn(t, "go", agent.Completed)
	b.checkOutline(t, "turn", "started 1", "running 1", "finished 1 error=false seen", "user left", "text a",
		"user then this", "text b", "user and that", "text c", "end completed")
	b.checkClosed(t)
}

func TestQueuedMessagesCanAllEnterAtOnce(t *testing.T) {
	var b *bench
	look := looks("look", func(context.Context, tooling.Env, session.Call) (session.Result, error) {
		b.Steer(prompt("one"))
		b.Steer(prompt("two"))
		return session.Result{Output: "seen"}, nil
	})
	m := &script{answers: []reply{say(call("1", "look", `{}`)), say(model.Text("a"))}}
	b = newBench(t, func(c *agent.Config) { c.Steering = agent.All }, m, look)
	b.turn(t, "go", agent.Completed)
	b.checkOutline(t, "turn", "started 1", "running 1", "finished 1 error=false seen", "user one", "user two", "text a", "end completed")
}

func TestCancelWhileTheModelAnswers(t *testing.T) {
	reached := make(chan struct{})
	m := &script{answers: []reply{
		hang(reached, model.Text("I was say")), say(model.Text("yes")),
	}}
	b := newBench(t, nil, m)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-reached; cancel() }()
	if reason, err := b.Turn(ctx, prompt("what did I say first?")); reason != agent.Cancelled || err != nil {
		t.Fatalf("Turn = %q, %v; a cancel is no failure", reason, err)
	}
	b.turn(t, "go on", agent.Completed)
	texts := fmt.Sprint(m.requests[1].Messages)
	for _, want := range []string{"what did I say first?", "I was say", "go on"} {
		if !strings.Contains(texts, want) {
			t.Errorf("the next request lacks %q: %s", want, texts)
		}
	}
}

func TestCancelWhileCallsRun(t *testing.T) {
	running := make(chan struct{})
	hangs := works("hangs", func(ctx context.Context, _ tooling.Env, _ session.Call) (session.Result, error) {
		close(running)
		<-ctx.Done()
		return session.Result{Output: "half"}, ctx.Err()
	})
	m := &script{answers: []reply{
		say(call("1", "hangs", `{}`), call("2", "work", `{}`)), say(model.Text("ok")),
	}}
	b := newBench(t, nil, m, hangs, works("work", says("done")))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-running; cancel() }()
	if reason, err := b.Turn(ctx, prompt("go")); reason != agent.Cancelled || err != nil {
		t.Fatalf("Turn = %q, %v", reason, err)
	}
	b.checkOutline(t, "turn", "started 1", "started 2", "running 1", "finished 1 error=true half\ncancelled by the user",
		"finished 2 error=true cancelled by the user before it ran", "end cancelled")
	b.checkClosed(t)
	b.turn(t, "next", agent.Completed)
}

func TestQueuedMessagesEndWithTheCancelledTurn(t *testing.T) {
	running := make(chan struct{})
	hangs := works("hangs", func(ctx context.Context, _ tooling.Env, _ session.Call) (session.Result, error) {
		close(running)
		<-ctx.Done()
		return session.Result{}, ctx.Err()
	})
	m := &script{answers: []reply{say(call("1", "hangs", `{}`)), say(model.Text("new"))}}
	b := newBench(t, nil, m, hangs)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-running; b.Steer(prompt("old")); b.FollowUp(prompt("older")); cancel() }()
	if reason, _ := b.Turn(ctx, prompt("go")); reason != agent.Cancelled {
		t.Fatal(reason)
	}
	b.turn(t, "something else", agent.Completed)
	messages := m.requests[1].Messages
	if last := agent.FirstText(messages[len(messages)-1].Content); last != "something else" {
		t.Errorf("the request after the cancel ends with %q", last)
	}
}

// A cancel that arrives when the turn has just ended must not reach the one that follows.
func TestALateCancelDoesNotReachTheNextTurn(t *testing.T) {
	for range 200 {
		m := &script{answers: []reply{say(model.Text("a")), say(model.Text("b"))}}
		b := newBench(t, nil, m)
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		if reason, err := b.Turn(ctx, prompt("one")); err != nil || (reason != agent.Completed && reason != agent.Cancelled) {
			t.Fatal(reason, err)
		}
		if reason, err := b.Turn(t.Context(), prompt("two")); err != nil && reason != agent.Completed {
			t.Fatal(reason, err)
		}
	}
}

// A recorder is a Hooks that writes down what it is asked.
type recorder struct {
	mu    sync.Mutex
	asked []string
	deny  string
	input string
}

func (r *recorder) note(s string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, s)
}
func (r *recorder) TurnStart(context.Context) { r.note("turn_start") }
func (r *recorder) TurnEnd(ctx context.Context, i bool) {
	r.note(fmt.Sprintf("turn_end interrupted=%t alive=%t", i, ctx.Err() == nil))
}
func (r *recorder) BeforeTool(_ context.Context, c session.Call) (session.Call, string) {
	r.note("tool_call " + c.Name + string(c.Input))
	if r.input != "" {
		c.Input = []byte(r.input)
	}
	return c, r.deny
}
func (r *recorder) AfterTool(_ context.Context, c session.Call, res session.Result) session.Result {
	r.note("tool_result " + c.Name + string(c.Input))
	res.Output += "!"
	return res
}

func TestHooksSeeAndChangeCalls(t *testing.T) {
	r := &recorder{input: `{"n":2}`}
	var ran string
	work := works("work", func(_ context.Context, _ tooling.Env, c session.Call) (session.Result, error) {
		ran = string(c.Input)
		return session.Result{Output: "done"}, nil
	})
	m := &script{answers: []reply{say(call("1", "work", `{"n":1}`)), say(model.Text("ok"))}}
	b := newBench(t, func(c *agent.Config) { c.Hooks = r }, m, work)
	b.turn(t, "go", agent.Completed)
	want := []string{"turn_start", `tool_call work{"n":1}`, `tool_result work{"n":2}`, "turn_end interrupted=false alive=true"}
	if d := cmp.Diff(want, r.asked); d != "" {
		t.Errorf("hooks (-want +got):\n%s", d)
	}
	if ran != `{"n":2}` {
		t.Errorf("the tool ran with %s", ran)
	}
	b.checkOutline(t, "turn", "started 1", `changed 1 {"n":2}`, "running 1", "finished 1 error=false done!", "text ok", "end completed")
}

func TestABlockedCallFailsOnItsOwnCardAndHasNoResultHook(t *testing.T) {
	r := &recorder{deny: "not while tests run"}
	m := &script{answers: []reply{say(call("1", "work", `{}`)), say(model.Text("ok"))}}
	b := newBench(t, func(c *agent.Config) { c.Hooks = r }, m, works("work", says("done")))
	b.turn(t, "go", agent.Completed)
	b.checkOutline(t, "turn", "started 1", "finished 1 error=true approval_denied: not while tests run", "text ok", "end completed")
	for _, asked := range r.asked {
		if strings.HasPrefix(asked, "tool_result") {
			t.Error("tool_result fired for a call that did not run")
		}
	}
}

func TestAskUserHasNoHooks(t *testing.T) {
	r := &recorder{deny: "never"}
	m := &script{answers: []reply{say(call("1", "ask_user", `{}`)), say(model.Text("ok"))}}
	b := newBench(t, func(c *agent.Config) { c.Hooks = r }, m, works("ask_user", says("blue")))
	b.turn(t, "go", agent.Completed)
	if d := cmp.Diff([]string{"turn_start", "turn_end interrupted=false alive=true"}, r.asked); d != "" {
		t.Errorf("hooks (-want +got):\n%s", d)
	}
}

func TestTurnEndHookOfACancelledTurnHasTimeToAnswer(t *testing.T) {
	r := &recorder{}
	reached := make(chan struct{})
	m := &script{answers: []reply{hang(reached)}}
	b := newBench(t, func(c *agent.Config) { c.Hooks = r }, m)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-reached; cancel() }()
	if reason, _ := b.Turn(ctx, prompt("go")); reason != agent.Cancelled {
		t.Fatal(reason)
	}
	if got := r.asked[len(r.asked)-1]; got != "turn_end interrupted=true alive=true" {
		t.Error(got)
	}
}

func TestARefusedPermissionIsToldToTheModel(t *testing.T) {
	asks := tool{tooling.Spec{Name: "asks", Schema: []byte(anyObject)}, says("done")}
	m := &script{answers: []reply{say(call("1", "asks", `{}`)), say(model.Text("ok"))}}
	var asked tooling.PermissionRequest
	b := newBench(t, func(c *agent.Config) {
		c.AskPermission = func(_ context.Context, r tooling.PermissionRequest) (tooling.Verdict, error) {
			asked = r
			return tooling.Reject, nil
		}
	}, m, guarded{asks})
	b.turn(t, "go", agent.Completed)
	if list := strings.Join(outline(b.shown()), "\n"); !strings.Contains(list, "finished 1 error=true approval_denied") || strings.Contains(list, "running 1") {
		t.Error(list)
	}
	if asked.Call.ID != "1" || asked.Need.Key != "tool:asks" {
		t.Errorf("asked %+v", asked)
	}
}

// guarded hides a tool's own view of permission, so that it is asked about.
type guarded struct{ t tool }

func (g guarded) Spec() tooling.Spec { return g.t.Spec() }
func (g guarded) Run(ctx context.Context, e tooling.Env, c session.Call) (session.Result, error) {
	return g.t.Run(ctx, e, c)
}

func TestProgressIsATailOfBoundedLength(t *testing.T) {
	shown := make(chan struct{}, 10)
	slow := works("slow", func(_ context.Context, env tooling.Env, _ session.Call) (session.Result, error) {
		env.Progress("first\n")
		<-shown
		for range 100_000 {
			env.Progress("more and more output\n")
		}
		return session.Result{Output: "all"}, nil
	})
	m := &script{answers: []reply{say(call("1", "slow", `{}`)), say(model.Text("ok"))}}
	var longest int
	b := newBench(t, func(c *agent.Config) {
		emit := c.Emit
		c.Emit = func(e agent.Event) {
			if p, ok := e.(agent.ToolProgress); ok {
				longest = max(longest, len(p.Tail))
				select {
				case shown <- struct{}{}:
				default:
				}
			}
			emit(e)
		}
	}, m, slow)
	b.turn(t, "go", agent.Completed)
	if longest == 0 || longest > 8<<10 {
		t.Errorf("the longest tail has %d bytes, want some, and at most 8 KiB", longest)
	}
	b.checkClosed(t)
}

func TestWhatIsStoredComesBackAsItWasShown(t *testing.T) {
	diff := session.Diff{Path: "/w/a.go", New: "package a\n"}
	edits := works("edit", func(context.Context, tooling.Env, session.Call) (session.Result, error) {
		return session.Result{Output: "ok", Diffs: []session.Diff{diff}, Locations: []session.Location{{Path: "/w/a.go", Line: 1}}}, nil
	})
	fails := works("fails", func(context.Context, tooling.Env, session.Call) (session.Result, error) {
		return session.Result{Output: "exit 1", IsError: true, ExitCode: new(int)}, nil
	})
	r := &recorder{input: `{"n":7}`}
	m := &script{answers: []reply{
		say(model.Thinking{Text: "hm"}, model.Text("first"), call("1", "edit", `{"n":1}`), call("2", "fails", `{}`), model.Usage{Input: 10, Output: 5}),
		say(model.Text("last"), model.Usage{Input: 20, Output: 6}),
	}}
	b := newBench(t, func(c *agent.Config) { c.Hooks = r }, m, edits, fails)
	b.turn(t, "go", agent.Completed)

	var again []agent.Event
	agent.Replay(b.store.All(), b.tools, 1000, func(e agent.Event) { again = append(again, e) })
	live := withoutPassing(b.shown())
	live = append([]agent.Event{agent.UserMessage{MessageID: "u0", Content: prompt("go")}}, live...)
	if d := cmp.Diff(live, withoutPassing(again)); d != "" {
		t.Errorf("replay differs (-live +replayed):\n%s", d)
	}
}

// withoutPassing leaves out what is not kept: the turn's frame, progress, and all but the last
// usage, which a replay tells at its end.
func withoutPassing(events []agent.Event) []agent.Event {
	var kept []agent.Event
	var usage agent.Event
	for _, e := range events {
		switch e.(type) {
		case agent.TurnStarted, agent.TurnEnded, agent.ToolRunning, agent.ToolProgress:
		case agent.UsageChanged:
			usage = e
		default:
			kept = append(kept, e)
		}
	}
	return append(kept, usage)
}
