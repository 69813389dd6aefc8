package agent

import (
	"iter"

	"nimlet/session"
	"nimlet/tooling"
)

// Replay turns a stored conversation into the events that showed it when it happened, so that an
// editor draws both by the same code. Streamed batches come as one, progress of calls is left
// out, notices are not kept. It ends with the last known use of the context window.
func Replay(events iter.Seq2[int, session.Event], tools *tooling.Registry, window int, emit func(Event)) {
	r := replayer{tools: tools, emit: emit, open: map[string]session.Call{}, displays: map[string]session.Display{}}
	for i, e := range events {
		r.event(i, e)
	}
	if r.usage != nil {
		emit(UsageChanged{Used: r.usage.Input + r.usage.Output, Size: window, Spent: r.usage.Spent})
	}
}

type replayer struct {
	tools    *tooling.Registry
	emit     func(Event)
	open     map[string]session.Call // calls without a result so far
	displays map[string]session.Display
	usage    *session.Usage
}

func (r *replayer) event(index int, e session.Event) {
	switch e := e.(type) {
	case session.User:
		r.emit(UserMessage{MessageID: messageID("u", index), Content: e.Content})
	case session.Assistant:
		r.answer(index, e)
	case session.ToolResult:
		r.result(e)
	case session.Extension:
		if m, ok := session.MarkOf(e); ok {
			r.mark(index, m)
		}
	}
}

func (r *replayer) answer(index int, e session.Assistant) {
	if e.Usage != nil {
		r.usage = e.Usage
	}
	var calls []session.Call
	for _, p := range e.Content {
		switch p := p.(type) {
		case session.Text:
			r.emit(TextDelta{MessageID: messageID("m", index), Text: p.Text})
		case session.Thinking:
			if p.Thinking != "" {
				r.emit(ThoughtDelta{MessageID: messageID("t", index), Text: p.Thinking})
			}
		case session.ToolUse:
			calls = append(calls, p.Call)
		}
	}
	for _, c := range calls {
		r.open[c.ID] = c
		r.emit(ToolStarted{Call: c, Card: CardOf(r.tools, c)})
	}
}

func (r *replayer) mark(index int, m session.Mark) {
	switch {
	case m.Display != nil:
		r.displays[m.Display.Call] = *m.Display
	case m.Command != nil:
		r.emit(UserMessage{MessageID: messageID("u", index), Content: []session.Part{session.Text{Text: m.Command.Text}}})
		r.emit(CommandReply{MessageID: messageID("c", index), Text: m.Command.Reply})
	}
}

func (r *replayer) result(e session.ToolResult) {
	call, ok := r.open[e.ID]
	if !ok {
		return
	}
	d := r.displays[e.ID]
	delete(r.open, e.ID)
	delete(r.displays, e.ID)
	if d.Input != nil {
		call.Input = d.Input
		r.emit(ToolChanged{Call: call, Card: CardOf(r.tools, call)})
	}
	r.emit(ToolFinished{Call: call, Result: session.Result{
		Output: e.Output, IsError: e.IsError, Images: e.Images, Diffs: d.Diffs, Locations: d.Locations, ExitCode: d.ExitCode,
	}})
}
