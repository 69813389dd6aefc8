// Package tooling says what a tool is, finds one by name, checks its arguments, asks whether it
// may run, and ends the processes it started. Built-in tools, tool.json executables, extension
// tools and MCP tools are all a Tool; nothing above this package can tell them apart.
package tooling

import (
	"context"
	"encoding/json"

	"nimlet/session"
)

// A Tool is something a model can call.
type Tool interface {
	Spec() Spec

	// Run executes call, whose arguments have passed the schema. A failure that the model should
	// hear of is a Result with IsError; an error means that the host failed, or ctx ended.
	// Run returns only when all it started has ended.
	Run(ctx context.Context, env Env, call session.Call) (session.Result, error)
}

// A Spec describes a tool to models, editors and permissions.
type Spec struct {
	Name         string          // ^[A-Za-z0-9_-]{1,64}$
	Description  string          // for the model
	Schema       json.RawMessage // JSON Schema of the arguments, an object schema
	Capabilities []Capability    // nil means write, shell and network
	Kind         Kind            // how an editor pictures it
	Parallel     bool            // calls of it may run side by side: read, grep, glob, read_skill
}

// A Capability is one thing a tool can do to the world (seed 000, "Tool capabilities").
type Capability string

// The capabilities a manifest may declare.
const (
	Read    Capability = "read"
	User    Capability = "user"
	Write   Capability = "write"
	Shell   Capability = "shell"
	Network Capability = "network"
)

// PlanSafe reports whether plan mode offers the tool: all it can do is read and talk to the user.
func (s Spec) PlanSafe() bool {
	for _, c := range s.Capabilities {
		if c != Read && c != User {
			return false
		}
	}
	return len(s.Capabilities) > 0
}

// A Kind is the category of a call that an editor draws an icon for.
type Kind string

// The kinds in use.
const (
	KindRead    Kind = "read"
	KindEdit    Kind = "edit"
	KindSearch  Kind = "search"
	KindExecute Kind = "execute"
	KindFetch   Kind = "fetch"
	KindOther   Kind = "other"
)

// An Env is what one run of a tool may use of the session around it.
type Env struct {
	// Progress shows output of a call that is still running; each call adds text. Never nil.
	Progress func(text string)
	// Ask puts a question to the person at the editor; nil when nobody can be asked.
	Ask func(context.Context, Question) (Answer, error)
}

// A Describer is a Tool that can say, before a call runs, how an editor should head it and which
// places it is about. It must not block, and it takes arguments that were not checked yet.
type Describer interface {
	Describe(call session.Call) (title string, locations []session.Location)
}

// A Previewer is a Tool that can show what a call would change, for a permission question.
type Previewer interface {
	Preview(ctx context.Context, call session.Call) []session.Diff
}

// A Guarded tool says what permission a call needs. A tool that is not Guarded asks the first
// time, under the key "tool:<name>".
type Guarded interface {
	Permission(call session.Call) Need
}
