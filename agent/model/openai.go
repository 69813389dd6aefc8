package model

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"nimlet/session"
	"nimlet/tooling"
)

// An openaiWire speaks Chat Completions, OpenAI's and that of all who took it over. This file writes
// requests; openairead.go reads answers.
type openaiWire struct{ *remote }

func (w openaiWire) path() string { return "/chat/completions" }

func (w openaiWire) authorize(h http.Header, key string) {
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}

type chatMessage struct {
	Role             string          `json:"role"`
	Content          any             `json:"content"` // a string, []chatPart, or null beside calls
	ReasoningContent string          `json:"reasoning_content,omitempty"`
	Reasoning        string          `json:"reasoning,omitempty"`
	ReasoningDetails json.RawMessage `json:"reasoning_details,omitempty"`
	ToolCalls        []chatCall      `json:"tool_calls,omitempty"`
	ToolCallID       string          `json:"tool_call_id,omitempty"`
}

type chatPart struct {
	Type         string        `json:"type"`
	Text         string        `json:"text,omitempty"`
	ImageURL     *chatImage    `json:"image_url,omitempty"`
	CacheControl *cacheControl `json:"cache_control,omitempty"`
}

type chatImage struct {
	URL string `json:"url"`
}

type chatCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
	Extra    *chatExtra   `json:"extra_content,omitempty"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// A chatExtra is where Google keeps what the dialect has no place for.
type chatExtra struct {
	Google struct {
		ThoughtSignature string `json:"thought_signature,omitempty"`
	} `json:"google"`
}

type chatTool struct {
	Type     string   `json:"type"`
	Function chatSpec `json:"function"`
}

type chatSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

func (w openaiWire) body(r Request) map[string]any {
	var messages []chatMessage
	if strings.TrimSpace(r.System) != "" {
		messages = append(messages, chatMessage{Role: "system", Content: r.System})
	}
	for _, t := range w.turns(r.Messages) {
		if t.role == session.RoleAssistant {
			messages = append(messages, w.spoken(t))
		} else {
			messages = append(messages, asked(t)...)
		}
	}
	if w.endpoint.Name == "openrouter" && strings.HasPrefix(w.id, "anthropic/") {
		markChat(messages)
	}
	body := map[string]any{"messages": messages, "stream_options": map[string]any{"include_usage": true}}
	if len(r.Tools) > 0 && w.abilities.Tools {
		body["tools"] = chatTools(r.Tools)
	}
	if limit := r.MaxTokens; limit > 0 {
		if w.abilities.MaxOutput > 0 {
			limit = min(limit, w.abilities.MaxOutput)
		}
		body[w.limitField()] = limit
	}
	w.think(body, r.Thinking)
	return body
}

// markChat marks for the cache what the other dialect would have marked: Anthropic's models behind a
// router cache nothing unasked.
func markChat(messages []chatMessage) {
	for i, marks := len(messages)-1, 2; i >= 0; i-- {
		if m := &messages[i]; m.Role == "system" {
			m.Content = marked(m.Content)
		} else if m.Role != "assistant" && marks > 0 && (i+1 == len(messages) || messages[i+1].Role == "assistant") {
			m.Content = marked(m.Content)
			marks--
		}
	}
}

func marked(content any) []chatPart {
	parts, ok := content.([]chatPart)
	if text, isText := content.(string); isText {
		parts, ok = []chatPart{{Type: "text", Text: text}}, true
	}
	if ok && len(parts) > 0 {
		parts[len(parts)-1].CacheControl = ephemeral()
	}
	return parts
}

// limitField names the limit of an answer. OpenAI has given up the old name, which is the only one
// that all the others know.
func (w openaiWire) limitField() string {
	if u, err := url.Parse(w.endpoint.BaseURL); err == nil &&
		(u.Hostname() == "api.openai.com" || strings.HasSuffix(u.Hostname(), ".openai.azure.com")) {
		return "max_completion_tokens"
	}
	return "max_tokens"
}

func (w openaiWire) think(body map[string]any, level Level) {
	effort := string(w.abilities.level(level))
	if effort == string(ThinkOff) {
		effort = "none"
	}
	if _, tools := body["tools"]; tools {
		switch {
		case w.noEffort.Load():
			effort = "none"
		case w.abilities.ToolEffort != "":
			effort = w.abilities.ToolEffort
		}
	}
	switch {
	case effort == "":
	case w.endpoint.Name == "openrouter":
		body["reasoning"] = map[string]any{"effort": effort}
	default:
		body["reasoning_effort"] = effort
	}
}

// asked returns a turn of the user: results first, then the pictures in them, which a result
// cannot hold here, with what the user said.
func asked(t turn) []chatMessage {
	var messages []chatMessage
	var parts []session.Part
	for _, answer := range t.answers {
		messages = append(messages, chatMessage{Role: "tool", ToolCallID: answer.ToolUseID, Content: answer.Content})
		if len(answer.Images) > 0 {
			parts = append(parts, session.Text{Text: "Pictures in the result of the call " + answer.ToolUseID + ":"})
		}
		for _, image := range answer.Images {
			parts = append(parts, image)
		}
	}
	if parts = append(parts, t.parts...); len(parts) > 0 {
		messages = append(messages, chatMessage{Role: "user", Content: chatContent(parts)})
	}
	return messages
}

// chatContent returns one string where it can: some servers take nothing else.
func chatContent(parts []session.Part) any {
	var all []chatPart
	for _, part := range parts {
		switch p := part.(type) {
		case session.Image:
			all = append(all, chatPart{Type: "image_url", ImageURL: &chatImage{URL: "data:" + p.MIMEType + ";base64," + p.Data}})
		case session.Text:
			if n := len(all); n > 0 && all[n-1].Type == "text" {
				all[n-1].Text += "\n\n" + p.Text
				continue
			}
			all = append(all, chatPart{Type: "text", Text: p.Text})
		}
	}
	if len(all) == 1 && all[0].Type == "text" {
		return all[0].Text
	}
	return all
}

// spoken returns a turn of the model's.
func (w openaiWire) spoken(t turn) chatMessage {
	m := chatMessage{Role: "assistant"}
	var text []string
	for _, part := range t.parts {
		switch p := part.(type) {
		case session.Text:
			text = append(text, p.Text)
		case session.ToolUse:
			m.ToolCalls = append(m.ToolCalls, w.called(p, len(m.ToolCalls) == 0))
		}
	}
	if len(text) > 0 {
		m.Content = strings.Join(text, "\n\n")
	}
	w.recall(&m, t.parts)
	return m
}

// recall gives the model its own thinking back. In plain text it is wanted beside calls alone, where
// some servers insist on it; others refuse it anywhere else.
func (w openaiWire) recall(m *chatMessage, parts []session.Part) {
	for _, part := range parts {
		t, ok := part.(session.Thinking)
		if !ok {
			continue
		}
		kind, signature, _ := w.endpoint.signed(t)
		switch {
		case kind == "reasoning_details" && json.Valid([]byte(signature)):
			m.ReasoningDetails = json.RawMessage(signature)
		case kind == "reasoning_content" && len(m.ToolCalls) > 0:
			m.ReasoningContent += t.Thinking
		case kind == "reasoning" && len(m.ToolCalls) > 0:
			m.Reasoning += t.Thinking
		}
	}
}

// unsigned stands in for the signature that newer Gemini models want on the first call of a step,
// when another model made it.
const unsigned = "skip_thought_signature_validator"

func (w openaiWire) called(use session.ToolUse, first bool) chatCall {
	call := chatCall{ID: use.ID, Type: "function", Function: chatFunction{Name: use.Name, Arguments: string(use.Input)}}
	signature, own := strings.CutPrefix(use.ThoughtSignature, w.endpoint.Name+":")
	if !own || use.ThoughtSignature == "" {
		signature = ""
		if first && w.endpoint.Name == "google" && strings.HasPrefix(w.id, "gemini-") && !strings.HasPrefix(w.id, "gemini-2") {
			signature = unsigned
		}
	}
	if signature != "" {
		call.Extra = &chatExtra{}
		call.Extra.Google.ThoughtSignature = signature
	}
	return call
}

func chatTools(specs []tooling.Spec) []chatTool {
	tools := make([]chatTool, len(specs))
	for i, s := range specs {
		tools[i] = chatTool{Type: "function", Function: chatSpec{Name: s.Name, Description: s.Description, Parameters: objectSchema(s.Schema)}}
	}
	return tools
}
