package acp

import (
	"encoding/json"

	"nimlet/agent"
	"nimlet/session"
	"nimlet/tooling"
)

// toolCall translates the life of one call. Its card is named by the call's id from the model's
// answer to the result.
func (u *Updates) toolCall(event agent.Event) {
	switch v := event.(type) {
	case agent.ToolStarted:
		v.Call.ID = u.unique(v.Call.ID)
		u.send(u.started(v))
	case agent.ToolChanged:
		v.Call.ID = u.unique(v.Call.ID)
		t := u.card(v.Call, v.Card)
		t.SessionUpdate = "tool_call_update"
		u.send(t)
	case agent.ToolRunning:
		u.send(toolUpdate{SessionUpdate: "tool_call_update", ToolCallID: u.unique(v.CallID), Status: inProgress})
	case agent.ToolProgress:
		v.CallID = u.unique(v.CallID)
		u.send(u.progress(v))
	case agent.ToolFinished:
		v.Call.ID = u.unique(v.Call.ID)
		u.send(u.finished(v))
	}
}

func (u *Updates) started(v agent.ToolStarted) toolUpdate {
	u.mu.Lock()
	u.calls[v.Call.ID] = shownCall{kind: v.Card.Kind, terminal: u.terminals && v.Call.Name == "bash"}
	u.mu.Unlock()
	t := u.card(v.Call, v.Card)
	t.SessionUpdate, t.Status, t.Name = "tool_call", pending, v.Call.Name
	if u.drawsTerminal(v.Call.ID) {
		t.Content = []toolContent{{Type: "terminal", TerminalID: v.Call.ID}}
		t.Meta = map[string]any{"terminal_info": map[string]string{"terminal_id": v.Call.ID}}
	}
	return t
}

// card is what heads a call.
func (u *Updates) card(call session.Call, card agent.Card) toolUpdate {
	title, _ := headline(card.Title, maxTitle)
	return toolUpdate{
		ToolCallID: call.ID, Title: title, Kind: string(card.Kind),
		Locations: locations(card.Locations), RawInput: fitInput(call.Input, u.limit/4),
	}
}

const maxTitle = 200 // characters; commands can be long

func (u *Updates) progress(v agent.ToolProgress) toolUpdate {
	t := toolUpdate{SessionUpdate: "tool_call_update", ToolCallID: v.CallID, Status: inProgress}
	if u.streamsTo(v.CallID) {
		t.Meta = map[string]any{"terminal_output": terminalOutput{v.CallID, v.Fresh}}
		return t
	}
	t.Content = []toolContent{content(textBlock(fenced(v.Tail)))}
	return t
}

type terminalOutput struct {
	TerminalID string `json:"terminal_id"`
	Data       string `json:"data"`
}

type terminalExit struct {
	TerminalID string  `json:"terminal_id"`
	ExitCode   *int    `json:"exit_code"`
	Signal     *string `json:"signal"`
}

// finished closes a call. What it changed and what it put out replace what was shown before. A
// command that did not run has no terminal to show why.
func (u *Updates) finished(v agent.ToolFinished) toolUpdate {
	id := v.Call.ID
	t := toolUpdate{SessionUpdate: "tool_call_update", ToolCallID: id, Status: completed, Locations: locations(v.Result.Locations)}
	if v.Result.IsError {
		t.Status = failed
	}
	call := u.forget(id)
	ran := v.Result.ExitCode != nil || !v.Result.IsError
	if call.terminal && ran {
		u.finishTerminal(&t, v, call.streamed)
		return t
	}
	t.Content = u.resultContent(call.kind, v.Result)
	return t
}

// A shownCall is a call that is not finished, as the client has it.
type shownCall struct {
	kind     tooling.Kind
	terminal bool // drawn as one
	streamed bool // and has had output
}

// forget returns a call that is over.
func (u *Updates) forget(id string) shownCall {
	u.mu.Lock()
	defer u.mu.Unlock()
	call := u.calls[id]
	delete(u.calls, id)
	return call
}

func (u *Updates) drawsTerminal(id string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.calls[id].terminal
}

// streamsTo reports whether a call's output goes to a terminal, and notes that it does.
func (u *Updates) streamsTo(id string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	call := u.calls[id]
	call.streamed = call.terminal
	u.calls[id] = call
	return call.terminal
}

// finishTerminal closes a call that the client draws as a terminal: with its output, unless that
// was streamed, and with how it ended.
func (u *Updates) finishTerminal(t *toolUpdate, v agent.ToolFinished, streamed bool) {
	t.Content = []toolContent{{Type: "terminal", TerminalID: v.Call.ID}}
	t.Meta = map[string]any{"terminal_exit": terminalExit{TerminalID: v.Call.ID, ExitCode: v.Result.ExitCode}}
	if !streamed {
		t.Meta["terminal_output"] = terminalOutput{v.Call.ID, excerpt(v.Result.Output, u.limit/2)}
	}
}

// resultContent is what a finished call shows: changes as diffs, pictures as pictures, the rest as
// text. The text that tells a model of its own edit adds nothing to the diff.
func (u *Updates) resultContent(kind tooling.Kind, r session.Result) []toolContent {
	room := u.limit - toolOverhead
	var list []toolContent
	for _, d := range r.Diffs {
		fitted, used := fitDiff(d, room)
		list = append(list, fitted...)
		room -= used
	}
	for _, i := range r.Images {
		b := fitBlock(imageBlock(i), room)
		list = append(list, content(b))
		room -= encodedLen(b)
	}
	if r.Output != "" && (len(list) == 0 || r.IsError) {
		text := excerpt(r.Output, room)
		if !r.IsError && kind != tooling.KindOther {
			text = fenced(text)
		}
		list = append(list, content(textBlock(text)))
	}
	return list
}

func content(b contentBlock) toolContent { return toolContent{Type: "content", Content: &b} }

func locations(list []session.Location) []toolLocation {
	out := make([]toolLocation, len(list))
	for i, l := range list {
		out[i] = toolLocation{Path: l.Path, Line: l.Line}
	}
	return out
}

// fitInput returns the arguments of a call as long as they are short, and else with their long
// texts cut: a client shows them, it does not run them.
func fitInput(input json.RawMessage, room int) json.RawMessage {
	if len(input) <= room {
		return input
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil {
		return nil
	}
	each := room / max(1, 2*len(fields))
	for k, v := range fields {
		if len(v) > each {
			fields[k] = shortened(v, each)
		}
	}
	short, err := json.Marshal(fields)
	if err != nil || len(short) > room {
		return nil
	}
	return short
}

func shortened(v json.RawMessage, room int) json.RawMessage {
	var text string
	if json.Unmarshal(v, &text) != nil {
		text = string(v)
	}
	short, err := json.Marshal(excerpt(text, room))
	if err != nil {
		return json.RawMessage("null")
	}
	return short
}
