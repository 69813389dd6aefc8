package modeltest

import (
	"encoding/json"
	"fmt"
	"strings"
)

type object = map[string]any

// A stream is the text of an answer, event by event.
type stream struct {
	strings.Builder
	named bool // events have names, as Anthropic's do
	noise bool
	n     int
}

func (s *stream) event(fields object) {
	s.n++
	if s.noise {
		fields["x_unknown"] = object{"nested": []any{s.n, nil, "…"}}
		fmt.Fprintf(s, ": a comment\nretry: 10\nid: %d\n\n", s.n)
		if s.n%2 == 0 {
			s.WriteString("event: x_unknown\ndata: {\"type\":\"x_unknown\",\ndata: \"delta\":\"not an object\"}\n\n")
		}
	}
	data, err := json.Marshal(fields)
	if err != nil {
		panic("modeltest: what it makes encodes: " + err.Error())
	}
	if s.named {
		fmt.Fprintf(s, "event: %s\n", fields["type"])
	}
	fmt.Fprintf(s, "data: %s\n\n", data)
}

// anthropic returns the events of a Messages stream, the last apart.
func (r reply) anthropic() (body, end string) {
	s := &stream{named: true, noise: r.noise}
	s.event(object{"type": "message_start", "message": object{"id": "msg_1", "type": "message", "role": "assistant", "content": []any{}, "model": "test",
		"usage": object{"input_tokens": r.usage.input, "cache_read_input_tokens": r.usage.cacheRead, "cache_creation_input_tokens": r.usage.cacheWrite, "output_tokens": 1}}})
	s.event(object{"type": "ping"})
	stop := "end_turn"
	for i, b := range r.blocks {
		s.anthropicBlock(i, b)
		if b.kind == "call" {
			stop = "tool_use"
		}
	}
	if r.stop != "" {
		stop = r.stop
	}
	last := &stream{named: true}
	last.event(object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": r.usage.output}})
	last.event(object{"type": "message_stop"})
	return s.String(), last.String()
}

func (s *stream) anthropicBlock(i int, b piece) {
	start := map[string]object{
		"text":              {"type": "text", "text": ""},
		"thinking":          {"type": "thinking", "thinking": "", "signature": ""},
		"redacted_thinking": {"type": "redacted_thinking", "data": b.signature},
		"call":              {"type": "tool_use", "id": b.id, "name": b.name, "input": object{}},
	}[b.kind]
	s.event(object{"type": "content_block_start", "index": i, "content_block": start})
	delta := func(d object) { s.event(object{"type": "content_block_delta", "index": i, "delta": d}) }
	for _, text := range fragments(b.text) {
		switch b.kind {
		case "text":
			delta(object{"type": "text_delta", "text": text})
		case "thinking":
			delta(object{"type": "thinking_delta", "thinking": text})
		case "call":
			delta(object{"type": "input_json_delta", "partial_json": text})
		}
	}
	if b.kind == "thinking" && b.signature != "" {
		delta(object{"type": "signature_delta", "signature": b.signature})
	}
	s.event(object{"type": "content_block_stop", "index": i})
}

// openai returns the events of a Chat Completions stream, the last ones apart.
func (r reply) openai() (body, end string) {
	s := &stream{noise: r.noise}
	s.delta(object{"role": "assistant", "content": ""}, nil)
	stop, calls := "stop", 0
	for _, b := range r.blocks {
		switch b.kind {
		case "text":
			for _, text := range fragments(b.text) {
				s.delta(object{"content": text}, nil)
			}
		case "thinking":
			for _, text := range fragments(b.text) {
				s.delta(object{"reasoning_content": text}, nil)
			}
		case "call":
			s.openaiCall(calls, b)
			stop = "tool_calls"
			calls++
		}
	}
	if r.stop != "" {
		stop = r.stop
	}
	last := &stream{}
	last.delta(object{}, stop)
	last.event(object{"object": "chat.completion.chunk", "choices": []any{}, "usage": object{
		"prompt_tokens": r.usage.input + r.usage.cacheRead + r.usage.cacheWrite, "completion_tokens": r.usage.output,
		"prompt_tokens_details": object{"cached_tokens": r.usage.cacheRead, "cache_write_tokens": r.usage.cacheWrite}}})
	last.WriteString("data: [DONE]\n\n")
	return s.String(), last.String()
}

func (s *stream) delta(d object, finish any) {
	s.event(object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "test",
		"choices": []any{object{"index": 0, "delta": d, "finish_reason": finish}}})
}

func (s *stream) openaiCall(index int, b piece) {
	s.delta(object{"tool_calls": []any{object{"index": index, "id": b.id, "type": "function", "function": object{"name": b.name, "arguments": ""}}}}, nil)
	for _, text := range fragments(b.text) {
		s.delta(object{"tool_calls": []any{object{"index": index, "function": object{"arguments": text}}}}, nil)
	}
}
