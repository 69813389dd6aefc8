package model

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
)

// An anthropicEvent is any event of a stream; an event of an unknown type is skipped, as the
// dialect asks.
type anthropicEvent struct {
	Type    string
	Index   int
	Message struct{ Usage anthropicUsage }
	Block   struct {
		Type, Text, Thinking, Signature, Data, ID, Name string
		Input                                           json.RawMessage
	} `json:"content_block"`
	Delta struct {
		Type, Text, Thinking, Signature string
		PartialJSON                     string `json:"partial_json"`
		StopReason                      string `json:"stop_reason"`
	}
	Usage anthropicUsage
}

type anthropicUsage struct {
	Input      int `json:"input_tokens"` // without what the cache had
	Output     int `json:"output_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
}

// add takes over the figures that next has: the first event counts the input, the last the output,
// and some servers count all in the last.
func (u *anthropicUsage) add(next anthropicUsage) {
	u.Input = max(u.Input, next.Input)
	u.Output = max(u.Output, next.Output)
	u.CacheRead = max(u.CacheRead, next.CacheRead)
	u.CacheWrite = max(u.CacheWrite, next.CacheWrite)
}

// An anthropicAnswer is what is known of an answer while it streams.
type anthropicAnswer struct {
	endpoint Endpoint
	out      *output
	blocks   map[int]*openBlock
	held     []*openBlock // complete calls; what follows them tells whether the last was cut short
	usage    anthropicUsage
	stop     string
	called   bool
}

// An openBlock is a block that may still grow.
type openBlock struct {
	kind, id, name, signature string
	arguments                 []byte
}

func (w anthropicWire) read(events iter.Seq2[string, error], out *output) error {
	a := anthropicAnswer{endpoint: w.endpoint, out: out, blocks: map[int]*openBlock{}}
	for data, err := range events {
		if err != nil {
			return err
		}
		var e anthropicEvent
		if err := json.Unmarshal([]byte(data), &e); err != nil && a.knows(data) {
			return malformed(data, err)
		}
		switch e.Type {
		case "error":
			return complaintIn([]byte(data)).asError(0)
		case "message_stop":
			return a.end()
		}
		if err := a.take(e); err != nil || out.stopped {
			return err
		}
	}
	return cutShort()
}

func (a *anthropicAnswer) take(e anthropicEvent) error {
	switch e.Type {
	case "message_start":
		a.usage.add(e.Message.Usage)
	case "content_block_start":
		a.start(e)
	case "content_block_delta":
		return a.grow(e)
	case "content_block_stop":
		a.close(e.Index)
	case "message_delta":
		a.usage.add(e.Usage)
		a.stop = e.Delta.StopReason
	}
	return nil
}

// knows reports whether data must have the form of an event, which one of an unknown type need not.
func (a *anthropicAnswer) knows(data string) bool {
	var e struct{ Type string }
	if json.Unmarshal([]byte(data), &e) != nil {
		return true
	}
	switch e.Type {
	case "", "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop", "error":
		return true
	}
	return false
}

func (a *anthropicAnswer) start(e anthropicEvent) {
	a.release(false)
	b := &openBlock{kind: e.Block.Type, id: e.Block.ID, name: e.Block.Name, signature: e.Block.Signature}
	switch b.kind {
	case "redacted_thinking":
		b.signature = e.Block.Data
	case "tool_use":
		if input := e.Block.Input; len(input) > 2 { // all of it at once, as some servers do; mostly "{}"
			b.arguments = input
		}
	}
	a.blocks[e.Index] = b
	if a.out.text(e.Block.Text) {
		a.out.think(e.Block.Thinking, "")
	}
}

func (a *anthropicAnswer) grow(e anthropicEvent) error {
	switch e.Delta.Type {
	case "text_delta":
		a.out.text(e.Delta.Text)
	case "thinking_delta":
		a.out.think(e.Delta.Thinking, "")
	case "signature_delta":
		if b := a.blocks[e.Index]; b != nil {
			b.signature += e.Delta.Signature
		}
	case "input_json_delta":
		if b := a.blocks[e.Index]; b != nil {
			b.arguments = append(b.arguments, e.Delta.PartialJSON...)
			if len(b.arguments) > maxEvent {
				return tooMuch(b.name)
			}
		}
	}
	return nil
}

func (a *anthropicAnswer) close(index int) {
	b := a.blocks[index]
	delete(a.blocks, index)
	if b == nil {
		return
	}
	switch b.kind {
	case "thinking":
		if b.signature == "" {
			return // without one it cannot be sent back
		}
		a.out.think("", a.endpoint.sign(plainThinking, b.signature))
	case "redacted_thinking":
		a.out.think("", a.endpoint.sign(redactedThinking, b.signature))
	case "tool_use":
		a.held = append(a.held, b)
	}
}

// release gives the held calls away.
func (a *anthropicAnswer) release(cut bool) {
	for _, b := range a.held {
		a.called = true
		if a.out.stopped || !a.out.call(b.id, b.name, string(b.arguments), "", cut) {
			return
		}
	}
	a.held = nil
}

func (a *anthropicAnswer) end() error {
	for _, index := range slices.Sorted(maps.Keys(a.blocks)) {
		a.close(index)
	}
	a.release(a.stop == "max_tokens")
	if a.out.stopped {
		return nil
	}
	if u := a.usage; u != (anthropicUsage{}) {
		a.out.usage = &Usage{Input: u.Input + u.CacheRead + u.CacheWrite, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
	}
	return a.out.end(a.reason())
}

func (a *anthropicAnswer) reason() Reason {
	switch {
	case a.stop == "refusal":
		return Refusal
	case a.stop == "max_tokens", a.stop == "model_context_window_exceeded":
		return MaxTokens
	case a.called:
		return ToolCalls
	default:
		return EndTurn
	}
}

// malformed says that an event is not what the dialect has.
func malformed(data string, err error) error {
	if c := complaintIn([]byte(data)); c.found {
		return c.asError(0)
	}
	return &Error{Kind: Broken, Message: fmt.Sprintf("it sent an event that cannot be read: %v", err), passing: true}
}

// cutShort says that a stream ended, in all order, before the answer did.
func cutShort() error {
	return &Error{Kind: Broken, Message: "the stream ended before the answer was complete", passing: true}
}

func tooMuch(call string) error {
	return &Error{Kind: Broken, Message: fmt.Sprintf("the arguments of its call of %q exceed %d MB", call, maxEvent>>20)}
}

var _ wire = anthropicWire{}
