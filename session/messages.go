package session

import "strings"

// outcomeUnknown is the result of a call whose own was never written.
const outcomeUnknown = "interrupted; outcome unknown"

// summaryHead stands before a compaction's summary in what a model is sent.
const summaryHead = "The conversation before this point was replaced by this summary of it:\n\n"

// An interrupted turn leaves a request that was not, or not wholly, answered. Without a word about
// that a model takes it up again beside whatever is asked next.
const (
	interruptedHead = "(This turn was interrupted: "
	interruptedTail = ". Do not go on with it unless the user asks for it again.)"
)

// InterruptedNote reports whether p is the note that a model finds where a turn was interrupted.
func InterruptedNote(p Part) bool {
	t, ok := p.(Text)
	return ok && strings.HasPrefix(t.Text, interruptedHead) && strings.HasSuffix(t.Text, interruptedTail)
}

// A view makes the messages a model is sent from the events of a session, one event after the
// other. Its promise to providers: each ToolUse is followed, in the next message, by exactly one
// ToolOutput, in the order of the calls, and no ToolOutput stands anywhere else. Calls without a
// result get one that says so; results without a call are left out. Calls that the provider ran
// itself (Hosted) keep their result, if any, in the assistant's own message.
//
// A view never changes a message it gave away.
type view struct {
	messages []Message
	open     map[string][]slot // calls that wait for their result, by id
}

// A slot is the place in a message where a call's result goes.
type slot struct{ message, part int }

// newView begins the messages after c, or at the start of the session when c is nil.
func newView(c *Compaction) *view {
	v := &view{open: map[string][]slot{}}
	if c != nil && c.Summary != "" {
		v.push(RoleUser, []Part{Text{Text: summaryHead + c.Summary}})
	}
	return v
}

func (v *view) add(e Event) {
	switch e := e.(type) {
	case User:
		v.push(RoleUser, v.settle(e.Content, nil))
	case Assistant:
		v.assistant(e)
	case Extension:
		if m, ok := MarkOf(e); ok && m.Interrupted != "" {
			v.push(RoleUser, []Part{Text{Text: interruptedHead + m.Interrupted + interruptedTail}})
		}
	case ToolResult:
		v.result(ToolOutput{ToolUseID: e.ID, Content: e.Output, IsError: e.IsError, Images: e.Images})
	}
}

func (v *view) push(role Role, content []Part) {
	if len(content) > 0 {
		v.messages = append(v.messages, Message{Role: role, Content: content})
	}
}

// assistant adds an answer and, when it has calls, the message that will hold their results.
func (v *view) assistant(a Assistant) {
	hosted := map[string]bool{}
	var outputs []Part
	var calls []string
	content := make([]Part, 0, len(a.Content))
	for _, p := range a.Content {
		if use, ok := p.(ToolUse); ok {
			if len(use.Input) == 0 || use.Input[0] != '{' { // no provider takes anything but an object back
				use.Input = []byte("{}")
			}
			p = use
			if use.Hosted {
				hosted[use.ID] = true
			} else {
				calls = append(calls, use.ID)
				outputs = append(outputs, ToolOutput{ToolUseID: use.ID, Content: outcomeUnknown, IsError: true})
			}
		}
		content = append(content, p)
	}
	for _, id := range calls {
		delete(v.open, id) // an id used again means the new call
	}
	at := len(v.messages) + 1
	for i, id := range calls {
		v.open[id] = append(v.open[id], slot{at, i})
	}
	answer := len(v.messages)
	v.messages = append(v.messages, Message{Role: RoleAssistant})
	v.push(RoleUser, outputs)
	v.messages[answer].Content = v.settle(content, hosted)
	if len(v.messages[answer].Content) == 0 { // nothing came before the interrupt
		v.messages = v.messages[:answer]
	}
}

// settle moves the results among parts to the calls they answer and returns the rest; results
// of the calls in keep stay where they are.
func (v *view) settle(parts []Part, keep map[string]bool) []Part {
	rest := make([]Part, 0, len(parts))
	for _, p := range parts {
		if out, ok := p.(ToolOutput); ok && !keep[out.ToolUseID] {
			v.result(out)
			continue
		}
		rest = append(rest, p)
	}
	return rest
}

// result puts out in the place of its call. The message is made anew, as it may be in use.
func (v *view) result(out ToolOutput) {
	slots := v.open[out.ToolUseID]
	if len(slots) == 0 {
		return
	}
	at := slots[0]
	if v.open[out.ToolUseID] = slots[1:]; len(slots) == 1 {
		delete(v.open, out.ToolUseID)
	}
	content := append([]Part(nil), v.messages[at.message].Content...)
	content[at.part] = out
	v.messages[at.message].Content = content
}
