package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"nimlet/session"
)

// An output passes the chunks of an answer on, and knows what an answer must not lack.
type output struct {
	yield   func(Chunk, error) bool
	begun   bool            // a chunk was given away
	stopped bool            // the consumer broke off
	said    bool            // there was text or a call, not thinking alone
	ids     map[string]bool // of all calls of the conversation
	usage   *Usage
}

// reset forgets an attempt of which nothing was given away.
func (o *output) reset() { o.usage = nil }

// emit passes c on and reports whether more is wanted.
func (o *output) emit(c Chunk) bool {
	o.begun = true
	o.stopped = o.stopped || !o.yield(c, nil)
	return !o.stopped
}

func (o *output) text(t string) bool {
	if t == "" {
		return true
	}
	o.said = o.said || strings.TrimSpace(t) != ""
	return o.emit(Text(t))
}

func (o *output) think(text, signature string) bool {
	return text == "" && signature == "" || o.emit(Thinking{Text: text, Signature: signature})
}

// call passes a call on under an id that no other of the conversation has: results are matched
// by it, here and at every provider that the conversation may move to.
func (o *output) call(id, name, arguments, signature string, cut bool) bool {
	o.said = true
	if id == "" || o.ids[id] {
		id = o.freshID()
	}
	o.ids[id] = true
	input, problem := parseArguments(arguments)
	if problem != "" && cut {
		problem += " (the answer reached its length limit before they were complete)"
	}
	return o.emit(ToolCall{Call: session.Call{ID: id, Name: name, Input: input}, ParseError: problem, ThoughtSignature: signature})
}

func (o *output) freshID() string {
	for n := len(o.ids) + 1; ; n++ {
		if id := fmt.Sprintf("call_%d", n); !o.ids[id] {
			return id
		}
	}
}

// end closes an answer. One that says nothing at all is a failure: the person would see a turn end
// without a word. One that was cut short or refused says so by its reason.
func (o *output) end(reason Reason) error {
	if !o.said && reason == EndTurn {
		return &Error{Kind: Empty, Message: "the model answered with nothing", Hint: "send the message again, or say \"go on\""}
	}
	if o.usage != nil && !o.emit(*o.usage) {
		return nil
	}
	o.emit(Stop{reason})
	return nil
}

// parseArguments returns the object that text is, and why it is none. No arguments are an empty one.
func parseArguments(text string) (input json.RawMessage, problem string) {
	data := bytes.TrimSpace(bytes.ToValidUTF8([]byte(text), []byte("\uFFFD")))
	if len(data) == 0 {
		return json.RawMessage("{}"), ""
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil {
		return json.RawMessage("{}"), err.Error()
	}
	if object == nil {
		return json.RawMessage("{}"), "they are null"
	}
	return data, ""
}
