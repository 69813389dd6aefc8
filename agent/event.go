package agent

import (
	"encoding/json"

	"nimlet/session"
	"nimlet/tooling"
)

// An Event is something that happened in a session and that an editor shows.
//
//	turn = TurnStarted { text | thought | call | Notice | UserMessage | CommandReply
//	     | UsageChanged | TitleChanged | ModeChanged } TurnEnded
//	call = ToolStarted [ ToolChanged ] [ ToolRunning { ToolProgress } ] ToolFinished
//
// Events of one turn arrive in this order, one at a time; calls that run side by side interleave.
// Every ToolStarted has its ToolFinished before TurnEnded, however the turn ends.
// ModeChanged, OptionsChanged and TitleChanged also come between turns.
type Event interface{ event() }

// TurnStarted opens a turn.
type TurnStarted struct{}

// TextDelta is more of a message; deltas of one message share its id.
type TextDelta struct{ MessageID, Text string }

// ThoughtDelta is more of the model's reasoning.
type ThoughtDelta struct{ MessageID, Text string }

// UserMessage is a message of the person: those of a replay, and those that enter a running turn.
type UserMessage struct {
	MessageID string
	Content   []session.Part
}

// CommandReply is the text a slash command answers.
type CommandReply struct{ MessageID, Text string }

// Notice is something the person must know and no model sees.
type Notice struct {
	Level Level
	Title string // one line
	Text  string // more; may be ""
}

// A Level is how grave a Notice is.
type Level string

// The levels of a Notice.
const (
	Info    Level = "info"
	Warning Level = "warning"
	Error   Level = "error"
)

// A Card is how a call is headed.
type Card struct {
	Title     string
	Kind      tooling.Kind
	Locations []session.Location
}

// ToolStarted shows a call the model made, before hooks and permission.
type ToolStarted struct {
	Call session.Call
	Card Card
}

// ToolChanged shows the arguments a hook put in place of the model's.
type ToolChanged struct {
	Call session.Call
	Card Card
}

// ToolRunning says that a call was allowed and runs.
type ToolRunning struct{ CallID string }

// ToolProgress is the end of what a running call has put out so far. Fresh is what of it is new
// since the last one; of output that comes faster than it is shown, the last.
type ToolProgress struct{ CallID, Tail, Fresh string }

// ToolFinished closes a call, whatever became of it.
type ToolFinished struct {
	Call   session.Call
	Result session.Result
}

// UsageChanged tells how full the context window is, in tokens, and what the session has cost, in US
// dollars; 0 when that is not known.
type UsageChanged struct {
	Used, Size int
	Spent      float64
}

// OptionsChanged tells that another model, or another way to ask it, was chosen.
type OptionsChanged struct{}

// ModeChanged tells the mode that holds from here on.
type ModeChanged struct{ Mode Mode }

// TitleChanged tells the session's new title.
type TitleChanged struct{ Title string }

// TurnEnded closes a turn.
type TurnEnded struct {
	Reason Reason
	Err    error // set when Reason is Failed
}

// A Reason is why a turn ended.
type Reason string

// The reasons a turn ends for.
const (
	Completed Reason = "completed"
	Cancelled Reason = "cancelled"
	Failed    Reason = "failed"
	MaxSteps  Reason = "max_steps"
	MaxTokens Reason = "max_tokens"
	Refused   Reason = "refused"
)

func (TurnStarted) event()    {}
func (TextDelta) event()      {}
func (ThoughtDelta) event()   {}
func (UserMessage) event()    {}
func (CommandReply) event()   {}
func (Notice) event()         {}
func (ToolStarted) event()    {}
func (ToolChanged) event()    {}
func (ToolRunning) event()    {}
func (ToolProgress) event()   {}
func (ToolFinished) event()   {}
func (UsageChanged) event()   {}
func (ModeChanged) event()    {}
func (OptionsChanged) event() {}
func (TitleChanged) event()   {}
func (TurnEnded) event()      {}

// A Mode is what a session may do: everything (act) or look only (plan).
type Mode string

// The two modes.
const (
	Act  Mode = "act"
	Plan Mode = "plan"
)

var emptyObject = json.RawMessage("{}")
