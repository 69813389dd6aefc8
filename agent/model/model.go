// Package model is how the agent speaks to a language model: one request, one stream of chunks,
// in one form for every provider.
package model

import (
	"context"
	"iter"
	"time"

	"nimlet/session"
	"nimlet/tooling"
)

// A Model answers requests. Stream yields the chunks of one answer in order: any number of Retrying,
// of Text, Thinking and ToolCall, at most one Usage, and Stop last. An error ends the sequence and is
// its last element; what came before it stands. Stream stops when ctx ends or the consumer breaks off.
type Model interface {
	Stream(ctx context.Context, r Request) iter.Seq2[Chunk, error]
}

// A Request is all a model is told.
type Request struct {
	System    string
	Messages  []session.Message
	Tools     []tooling.Spec // in a fixed order, so that provider caches hit
	MaxTokens int            // of the answer; 0 means the provider's own limit
	Thinking  Level          // how much to reason; "" means as the provider does unasked
}

// A Level is how much a model is asked to reason before it answers.
type Level string

// The levels, from none to most. A model that lacks one is asked for the nearest it has.
const (
	ThinkOff     Level = "off"
	ThinkMinimal Level = "minimal"
	ThinkLow     Level = "low"
	ThinkMedium  Level = "medium"
	ThinkHigh    Level = "high"
	ThinkXHigh   Level = "xhigh"
)

// Levels returns all levels, from none to most.
func Levels() []Level {
	return []Level{ThinkOff, ThinkMinimal, ThinkLow, ThinkMedium, ThinkHigh, ThinkXHigh}
}

// A Chunk is one piece of an answer.
type Chunk interface{ chunk() }

// Text is more of the answer.
type Text string

// Thinking is more of the reasoning, or, with Signature set, its end.
type Thinking struct{ Text, Signature string }

// ToolCall is one complete call.
type ToolCall session.ToolUse

// Usage is what the request cost.
type Usage session.Usage

// Retrying says that a request failed and is sent once more after a wait. It is no part of the
// answer, and comes only before the first chunk of it.
type Retrying struct {
	Attempt int           // the one that follows, from 2
	Wait    time.Duration // before it
	Err     error         // why the one before it failed
}

// Stop ends an answer.
type Stop struct{ Reason Reason }

func (Text) chunk()     {}
func (Thinking) chunk() {}
func (ToolCall) chunk() {}
func (Usage) chunk()    {}
func (Retrying) chunk() {}
func (Stop) chunk()     {}

// A Reason is why an answer ended.
type Reason string

// The reasons.
const (
	EndTurn   Reason = "end_turn"
	ToolCalls Reason = "tool_calls"
	MaxTokens Reason = "max_tokens"
	Refusal   Reason = "refusal"
)
