package model

import (
	"encoding/json"
	"net/http"
	"strings"

	"nimlet/session"
	"nimlet/tooling"
)

// An anthropicWire speaks Anthropic's Messages. This file writes requests; anthropicread.go reads answers.
type anthropicWire struct{ *remote }

func (w anthropicWire) path() string { return "/messages" }

func (w anthropicWire) authorize(h http.Header, key string) {
	h.Set("Anthropic-Version", "2023-06-01")
	if key != "" {
		h.Set("X-Api-Key", key)
	}
}

// A block is a piece of a message's content. Which fields are set depends on its type.
type block struct {
	Type         string          `json:"type"`
	Text         string          `json:"text,omitempty"`
	Thinking     *string         `json:"thinking,omitempty"` // may be "" and must not lack then
	Signature    string          `json:"signature,omitempty"`
	Data         string          `json:"data,omitempty"`
	ID           string          `json:"id,omitempty"`
	Name         string          `json:"name,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	ToolUseID    string          `json:"tool_use_id,omitempty"`
	Content      []block         `json:"content,omitempty"`
	IsError      bool            `json:"is_error,omitempty"`
	Source       *imageSource    `json:"source,omitempty"`
	CacheControl *cacheControl   `json:"cache_control,omitempty"`
}

type imageSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

type anthropicMessage struct {
	Role    session.Role `json:"role"`
	Content []block      `json:"content"`
}

type anthropicTool struct {
	Name         string          `json:"name"`
	Description  string          `json:"description,omitempty"`
	Schema       json.RawMessage `json:"input_schema"`
	CacheControl *cacheControl   `json:"cache_control,omitempty"`
}

// A cacheControl marks the end of what is to be cached. Four are allowed in a request: ours stand
// behind the tools, the system prompt, and the last two turns of the user. The one but last is
// what the request before has written, so it is found however many blocks a turn has added.
type cacheControl struct {
	Type string `json:"type"`
}

// unlimitedOutput is sent where the model's own limit is unknown, as the dialect wants a number.
const unlimitedOutput = 8192

func (w anthropicWire) body(r Request) map[string]any {
	turns := w.turns(r.Messages)
	messages := make([]anthropicMessage, len(turns))
	for i, t := range turns {
		messages[i] = anthropicMessage{Role: t.role, Content: w.blocks(t)}
	}
	for i, marks := len(messages)-1, 2; i >= 0 && marks > 0; i-- {
		if content := messages[i].Content; messages[i].Role == session.RoleUser {
			content[len(content)-1].CacheControl = ephemeral()
			marks--
		}
	}
	limit := w.limit(r.MaxTokens)
	body := map[string]any{"messages": messages, "max_tokens": limit}
	if strings.TrimSpace(r.System) != "" {
		body["system"] = []block{{Type: "text", Text: r.System, CacheControl: ephemeral()}}
	}
	if len(r.Tools) > 0 && w.abilities.Tools {
		body["tools"] = anthropicTools(r.Tools)
	}
	w.think(body, r.Thinking, limit, turns)
	return body
}

func ephemeral() *cacheControl { return &cacheControl{Type: "ephemeral"} }

// limit returns how many tokens an answer may have when asked are wanted, 0 for as many as there can be.
func (w anthropicWire) limit(asked int) int {
	most := w.abilities.MaxOutput
	switch {
	case asked > 0 && most > 0:
		return min(asked, most)
	case asked > 0:
		return asked
	case most > 0:
		return most
	default:
		return unlimitedOutput
	}
}

// think asks for thinking at level.
func (w anthropicWire) think(body map[string]any, level Level, limit int, turns []turn) {
	level = w.abilities.level(level)
	if level == "" || level == ThinkOff {
		return // unasked, models that can be silent are
	}
	if w.abilities.Adaptive {
		body["thinking"] = map[string]any{"type": "adaptive", "display": "summarized"}
		body["output_config"] = map[string]any{"effort": string(level)}
		return
	}
	budget := min(thinkingBudget(level), limit-leastBudget)
	if budget < leastBudget || !thinksInLoop(turns) {
		return
	}
	body["thinking"] = map[string]any{"type": "enabled", "budget_tokens": budget}
}

// leastBudget is the dialect's, in tokens.
const leastBudget = 1024

func thinkingBudget(level Level) int {
	switch level {
	case ThinkMinimal:
		return leastBudget
	case ThinkLow:
		return 4096
	case ThinkMedium:
		return 10_000
	case ThinkHigh:
		return 24_000
	default:
		return 48_000
	}
}

// thinksInLoop reports whether thinking may be asked for: in the middle of a turn the answer that made
// the calls must have begun with it, and one of another provider's has not.
func thinksInLoop(turns []turn) bool {
	if len(turns) < 2 || len(turns[len(turns)-1].answers) == 0 {
		return true
	}
	_, thought := turns[len(turns)-2].parts[0].(session.Thinking)
	return thought
}

func (w anthropicWire) blocks(t turn) []block {
	var all []block
	for _, answer := range t.answers {
		b := block{Type: "tool_result", ToolUseID: answer.ToolUseID, IsError: answer.IsError}
		b.Content = append(b.Content, block{Type: "text", Text: answer.Content})
		for _, image := range answer.Images {
			b.Content = append(b.Content, imageBlock(image))
		}
		all = append(all, b)
	}
	for _, part := range t.parts {
		switch p := part.(type) {
		case session.Text:
			all = append(all, block{Type: "text", Text: p.Text})
		case session.Image:
			all = append(all, imageBlock(p))
		case session.Thinking:
			all = append(all, w.thinkingBlock(p))
		case session.ToolUse:
			all = append(all, block{Type: "tool_use", ID: p.ID, Name: p.Name, Input: p.Input})
		}
	}
	return all
}

func imageBlock(image session.Image) block {
	return block{Type: "image", Source: &imageSource{Type: "base64", MediaType: image.MIMEType, Data: image.Data}}
}

// The kinds under which this dialect's thinking is signed.
const (
	plainThinking    = "thinking"
	redactedThinking = "redacted" // the signature is the thought itself, encrypted
)

func (w anthropicWire) thinkingBlock(t session.Thinking) block {
	kind, signature, _ := w.endpoint.signed(t)
	if kind == redactedThinking {
		return block{Type: "redacted_thinking", Data: signature}
	}
	return block{Type: "thinking", Thinking: &t.Thinking, Signature: signature}
}

func anthropicTools(specs []tooling.Spec) []anthropicTool {
	tools := make([]anthropicTool, len(specs))
	for i, s := range specs {
		tools[i] = anthropicTool{Name: s.Name, Description: s.Description, Schema: objectSchema(s.Schema)}
	}
	tools[len(tools)-1].CacheControl = ephemeral()
	return tools
}

// objectSchema returns schema with what providers insist on: a type and properties, if only empty ones.
func objectSchema(schema json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(schema, &fields) != nil || fields == nil {
		fields = map[string]json.RawMessage{}
	}
	if fields["type"] != nil && fields["properties"] != nil {
		return schema
	}
	if fields["type"] == nil {
		fields["type"] = json.RawMessage(`"object"`)
	}
	if fields["properties"] == nil {
		fields["properties"] = json.RawMessage("{}")
	}
	whole, err := json.Marshal(fields)
	if err != nil {
		panic("model: what was decoded encodes: " + err.Error())
	}
	return whole
}
