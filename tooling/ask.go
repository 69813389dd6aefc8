package tooling

import (
	"errors"

	"nimlet/session"
)

// ErrNobody says that there is no way to put a question to a person here. Its Answer is Cancelled.
var ErrNobody = errors.New("nobody can be asked here")

// A Question has a person choose. One type serves the ask_user tool, trust, and the questions of
// extensions.
type Question struct {
	CallID     string   // the tool call it belongs to; "" for none
	Source     string   // the extension that asks; "" for nimlet itself
	Prompt     string   // the question
	Options    []Option // may repeat labels; may be empty when AllowOther is set
	AllowOther bool     // the person may type a text of their own where the editor can take one
}

// An Option is one choice of a Question.
type Option struct {
	Label       string
	Description string
}

// An Answer is what became of a Question. Text is the chosen option's label or the person's own
// words; it is "" when Cancelled. A dismissed question, an editor that cannot ask and a
// connection that is gone are all Cancelled.
type Answer struct {
	Text      string
	Cancelled bool
}

// A Need is the permission a call needs before it runs (spec: permissions).
type Need struct {
	Free     bool   // needs none; the other fields are empty
	Key      string // what a grant covers: "bash:go test ./...", "tool:save_note"; "" matches no grant
	Subject  string // what the person is shown between the words "Allow" and "for this session"
	Remember bool   // the answer may be kept for the session or the project
	Reason   string // why it is asked though a grant might cover it; "" for the plain case
}

// A PermissionRequest is a question whether a call may run.
type PermissionRequest struct {
	Call  session.Call // with its final arguments
	Spec  Spec
	Need  Need
	Diffs []session.Diff // what it would change, where the tool can tell
}

// A Verdict is a person's answer to a PermissionRequest.
type Verdict int

// The verdicts. The zero Verdict rejects.
const (
	Reject Verdict = iota
	AllowOnce
	AllowSession
	AllowProject
)
