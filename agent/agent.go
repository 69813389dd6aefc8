// Package agent runs turns: it asks a model, runs the tools the model calls, and asks again until
// an answer calls none. It knows no editor, no protocol and no extension: what it needs of them
// are the functions and small interfaces of Config, and what it tells them are Events.
package agent

import (
	"context"
	"sync"

	"go.uber.org/zap"

	"nimlet/agent/model"
	"nimlet/session"
	"nimlet/tooling"
)

// A Log is where the conversation is kept; *session.Store is one.
type Log interface {
	Len() int
	Messages() []session.Message
	Append(...session.Event) error
	Partial(session.Partial) error
	Sync()
	Flush(context.Context) error
}

// Hooks let others see and change what a turn does. Each call waits for all who listen.
type Hooks interface {
	TurnStart(ctx context.Context)
	TurnEnd(ctx context.Context, interrupted bool)

	// BeforeTool returns the call to run in place of c, and why it may not run ("" when it may).
	BeforeTool(ctx context.Context, c session.Call) (_ session.Call, deny string)

	// AfterTool returns the result to keep in place of r. It is asked for calls that ran.
	AfterTool(ctx context.Context, c session.Call, r session.Result) session.Result
}

// Permissions decides whether a call may run; *tooling.Permissions does.
type Permissions interface {
	Check(ctx context.Context, t tooling.Tool, c session.Call,
		ask func(context.Context, tooling.PermissionRequest) (tooling.Verdict, error)) (denied string, err error)
}

// Config is what an Agent works with. All but the fields said to be optional are needed.
type Config struct {
	Log         Log
	Model       model.Model
	System      string // the system prompt
	Tools       *tooling.Registry
	Permissions Permissions
	Hooks       Hooks // optional
	Mode        Mode  // to begin with; "" means Act
	// Beside returns what a model is told beside the result of a call, "" for nothing; nil for never.
	Beside func(session.Call, session.Result) string

	// Identity names the provider and model that answer now; it is recorded with every answer.
	Identity func() (provider, model string)
	// Window is the size of that model's context, in tokens.
	Window func() int
	// Cost returns what a request to that model cost, in US dollars; 0 when its price is not known.
	// nil knows none.
	Cost func(session.Usage) float64
	// Spent is what the conversation had cost before.
	Spent float64
	// Emit is told what happens, in order, one event at a time. It may block: the turn waits.
	Emit func(Event)
	// Ask and AskPermission reach the person; nil when nobody can be asked.
	Ask           func(context.Context, tooling.Question) (tooling.Answer, error)
	AskPermission func(context.Context, tooling.PermissionRequest) (tooling.Verdict, error)

	MaxSteps  int       // model requests a turn; 0 means 200
	MaxTokens int       // of one answer; 0 means the model's own limit
	Steering  QueueMode // how queued steering messages enter
	FollowUp  QueueMode // how queued follow-ups enter
	Logger    *zap.Logger
}

// An Agent holds one conversation. Turns run one at a time; every other method may be called
// meanwhile, from any goroutine.
type Agent struct {
	cfg      Config
	steering queue
	followUp queue

	emitting sync.Mutex // gives cfg.Emit one caller at a time

	mu    sync.Mutex
	mode  Mode
	spent float64 // written by the turn alone
}

const defaultMaxSteps = 200

// New returns an Agent that continues the conversation of c.Log.
func New(c Config) *Agent {
	if c.MaxSteps == 0 {
		c.MaxSteps = defaultMaxSteps
	}
	if c.Mode == "" {
		c.Mode = Act
	}
	if c.Hooks == nil {
		c.Hooks = noHooks{}
	}
	return &Agent{
		cfg:      c,
		mode:     c.Mode,
		spent:    c.Spent,
		steering: queue{mode: c.Steering},
		followUp: queue{mode: c.FollowUp},
	}
}

// Mode returns the mode that holds now.
func (a *Agent) Mode() Mode {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mode
}

// SetMode changes the mode from the next tool call on, and notes it in the session so that
// resuming restores it.
func (a *Agent) SetMode(m Mode) error {
	if a.Mode() == m {
		return nil
	}
	if err := a.cfg.Log.Append(session.Mark{Mode: string(m)}.Event()); err != nil {
		return err
	}
	a.mu.Lock()
	a.mode = m
	a.mu.Unlock()
	a.emit(ModeChanged{Mode: m})
	return nil
}

// Steer queues a message that enters the running turn after its current tool calls.
func (a *Agent) Steer(content []session.Part) { a.steering.add(content) }

// FollowUp queues a message that enters the running turn where it would end.
func (a *Agent) FollowUp(content []session.Part) { a.followUp.add(content) }

// Show passes an event that is not the agent's own to the editor, in order with those that are.
func (a *Agent) Show(e Event) { a.emit(e) }

// Pause runs f while nothing is emitted: what happens meanwhile waits.
func (a *Agent) Pause(f func()) {
	a.emitting.Lock()
	defer a.emitting.Unlock()
	f()
}

func (a *Agent) emit(e Event) {
	a.emitting.Lock()
	defer a.emitting.Unlock()
	a.cfg.Emit(e)
}

// noHooks stands in where nobody listens.
type noHooks struct{}

func (noHooks) TurnStart(context.Context)     {}
func (noHooks) TurnEnd(context.Context, bool) {}
func (noHooks) BeforeTool(_ context.Context, c session.Call) (session.Call, string) {
	return c, ""
}
func (noHooks) AfterTool(_ context.Context, _ session.Call, r session.Result) session.Result {
	return r
}
