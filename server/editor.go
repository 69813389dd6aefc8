package server

import (
	"context"

	"nimlet/agent"
	"nimlet/session"
	"nimlet/tooling"
	"nimlet/tooling/builtin"
)

// An Editor is what a dialect does for one session. Emit is needed; a nil func means that this
// editor cannot do it.
type Editor struct {
	// Emit shows an event. Calls come one at a time.
	Emit func(agent.Event)
	// Commands shows which slash commands there are, whenever that changes.
	Commands func(agent.Commands)
	// Begin says that another conversation, with this id, takes the place of the one shown (/new).
	Begin func(id string)
	// Ask puts a question to the person.
	Ask func(context.Context, tooling.Question) (tooling.Answer, error)
	// AskPermission asks whether a call may run.
	AskPermission func(context.Context, tooling.PermissionRequest) (tooling.Verdict, error)
	// AskTrust puts a question that no program may answer in the person's place.
	AskTrust func(context.Context, tooling.Question) (tooling.Answer, error)
	// Closed says that the session was closed: it shows and asks nothing any more.
	Closed func()
	// Buffers are the texts that are open in the editor; nil when only the disk can be seen.
	Buffers builtin.Buffers
	// Hides names slash commands that this editor does better itself: they work, but are not offered.
	Hides []string
}

// A Message is what a person sent: a prompt's content.
type Message = []session.Part
