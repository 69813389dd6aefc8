package model

import (
	"encoding/json"
	"iter"
	"strings"
)

// A chatEvent is one event of a stream. Fields that some servers fill with another type than
// OpenAI does are decoded by hand.
type chatEvent struct {
	Choices []struct {
		Index        int
		Delta        chatDelta
		FinishReason string `json:"finish_reason"`
		Error        json.RawMessage
	}
	Usage *chatUsage
	Error json.RawMessage
}

type chatDelta struct {
	Content          chatText
	Refusal          chatText
	ReasoningContent chatText          `json:"reasoning_content"`
	Reasoning        chatText          `json:"reasoning"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details"`
	ToolCalls        []chatCallDelta   `json:"tool_calls"`
}

type chatCallDelta struct {
	Index    *int
	ID       string
	Function struct {
		Name      string
		Arguments chatText
	}
	Extra chatExtra `json:"extra_content"`
}

type chatUsage struct {
	Prompt     int `json:"prompt_tokens"` // with what the cache had
	Completion int `json:"completion_tokens"`
	CacheHit   int `json:"prompt_cache_hit_tokens"` // DeepSeek's place for what the details hold
	In         struct {
		Cached int `json:"cached_tokens"`
		Write  int `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	Out struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// A chatText is a string, or a list of parts with texts, or, as arguments, an object.
type chatText string

func (t *chatText) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case '"':
		return json.Unmarshal(data, (*string)(t))
	case '{':
		*t = chatText(data)
	case '[':
		var parts []struct{ Text string }
		if err := json.Unmarshal(data, &parts); err != nil {
			return err
		}
		for _, p := range parts {
			*t += chatText(p.Text)
		}
	}
	return nil // null and what makes no text
}

// A chatAnswer is what is known of an answer while it streams.
type chatAnswer struct {
	endpoint Endpoint
	out      *output
	calls    []*chatCallState
	thinking string // the field that thinking came in and was not closed yet; "" for none
	details  []map[string]any
	finish   string
	refused  bool
}

type chatCallState struct {
	index     int
	id, name  string
	arguments []byte
	signature string
}

func (w openaiWire) read(events iter.Seq2[string, error], out *output) error {
	a := chatAnswer{endpoint: w.endpoint, out: out}
	for data, err := range events {
		if err != nil {
			return err
		}
		if strings.TrimSpace(data) == "[DONE]" {
			return a.end()
		}
		var e chatEvent
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return malformed(data, err)
		}
		if err := a.take(e, data); err != nil || out.stopped {
			return err
		}
	}
	return cutShort()
}

func (a *chatAnswer) take(e chatEvent, data string) error {
	if len(e.Error) > 0 && string(e.Error) != "null" {
		return complaintIn([]byte(data)).asError(0)
	}
	if u := e.Usage; u != nil {
		a.out.usage = &Usage{Input: u.Prompt, Output: u.Completion, CacheRead: max(u.In.Cached, u.CacheHit), CacheWrite: u.In.Write, Thinking: u.Out.Reasoning}
	}
	for _, choice := range e.Choices {
		if choice.Index != 0 {
			continue
		}
		if len(choice.Error) > 0 && string(choice.Error) != "null" {
			return complaintOf(choice.Error).asError(0)
		}
		if choice.FinishReason != "" {
			a.finish = choice.FinishReason
		}
		if err := a.grow(choice.Delta); err != nil || a.out.stopped {
			return err
		}
	}
	return nil
}

func (a *chatAnswer) grow(d chatDelta) error {
	a.think("reasoning_content", string(d.ReasoningContent))
	if d.ReasoningContent == "" {
		a.think("reasoning", string(d.Reasoning))
	}
	for _, raw := range d.ReasoningDetails {
		a.detail(raw)
	}
	if a.out.stopped {
		return nil
	}
	if d.Content != "" || d.Refusal != "" || len(d.ToolCalls) > 0 {
		a.closeThinking()
	}
	a.refused = a.refused || d.Refusal != ""
	if !a.out.stopped && a.out.text(string(d.Content)) {
		a.out.text(string(d.Refusal))
	}
	for _, c := range d.ToolCalls {
		call := a.call(c)
		if call.arguments = append(call.arguments, c.Function.Arguments...); len(call.arguments) > maxEvent {
			return tooMuch(call.name)
		}
	}
	return nil
}

func (a *chatAnswer) think(field, text string) {
	if text != "" && !a.out.stopped {
		a.thinking = field
		a.out.think(text, "")
	}
}

// detail takes in a piece of the reasoning as OpenRouter wants it back: pieces of one entry joined.
func (a *chatAnswer) detail(raw json.RawMessage) {
	var piece map[string]any
	if json.Unmarshal(raw, &piece) != nil || piece == nil {
		return
	}
	if a.thinking == "" {
		a.thinking = "reasoning"
	}
	if n := len(a.details); n > 0 && a.details[n-1]["type"] == piece["type"] && a.details[n-1]["index"] == piece["index"] {
		entry := a.details[n-1]
		for name, value := range piece {
			before, _ := entry[name].(string)
			more, isText := value.(string)
			switch {
			case isText && (name == "text" || name == "summary" || name == "data"):
				entry[name] = before + more
			case value != nil:
				entry[name] = value
			}
		}
		return
	}
	a.details = append(a.details, piece)
}

// closeThinking marks what was thought with how it is to be sent back.
func (a *chatAnswer) closeThinking() {
	if a.thinking == "" {
		return
	}
	kind, signature := a.thinking, ""
	if len(a.details) > 0 {
		whole, err := json.Marshal(a.details)
		if err != nil {
			panic("model: what was decoded encodes: " + err.Error())
		}
		kind, signature = "reasoning_details", string(whole)
	}
	a.thinking, a.details = "", nil
	a.out.think("", a.endpoint.sign(kind, signature))
}

// call returns the call that c is a piece of. The index tells, where there is one; servers that send
// whole calls give all of them the same, or none, and tell them apart by id or name.
func (a *chatAnswer) call(c chatCallDelta) *chatCallState {
	var call *chatCallState
	for _, known := range a.calls {
		switch {
		case c.Index != nil && known.index == *c.Index && (c.ID == "" || known.id == "" || known.id == c.ID),
			c.Index == nil && (c.ID != "" && known.id == c.ID || c.ID == "" && c.Function.Name == ""):
			call = known
		}
	}
	if call == nil {
		call = &chatCallState{index: len(a.calls)}
		if c.Index != nil {
			call.index = *c.Index
		}
		a.calls = append(a.calls, call)
	}
	if call.id == "" {
		call.id = c.ID
	}
	if call.name == "" {
		call.name = c.Function.Name
	}
	if s := c.Extra.Google.ThoughtSignature; s != "" {
		call.signature = a.endpoint.Name + ":" + s
	}
	return call
}

func (a *chatAnswer) end() error {
	if a.finish == "error" {
		return &Error{Kind: Overloaded, Message: "it gave up in the middle of the answer", passing: true}
	}
	a.closeThinking()
	for i, c := range a.calls {
		cut := a.finish == "length" && i == len(a.calls)-1
		if a.out.stopped || !a.out.call(c.id, c.name, string(c.arguments), c.signature, cut) {
			return nil
		}
	}
	if a.out.stopped {
		return nil
	}
	return a.out.end(a.reason())
}

func (a *chatAnswer) reason() Reason {
	switch {
	case a.refused, a.finish == "content_filter":
		return Refusal
	case a.finish == "length":
		return MaxTokens
	case len(a.calls) > 0:
		return ToolCalls
	default:
		return EndTurn
	}
}
