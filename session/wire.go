package session

import "encoding/json"

// This file mirrors seed 000, "Session entries": the JSON forms of events and parts. The *Line and
// *Part types are what is written, field for field; wireEvent and wirePart take any of them in, for
// one pass over the bytes of a line.

type contentLine struct { // user
	Type    string `json:"type"`
	Role    Role   `json:"role"`
	Content []any  `json:"content"`
}

type assistantLine struct {
	contentLine
	Model          string `json:"model,omitempty"`
	Provider       string `json:"provider,omitempty"`
	RequestedModel string `json:"requested_model,omitempty"`
	Usage          *Usage `json:"usage,omitempty"`
}

type resultLine struct {
	Type    string      `json:"type"`
	ID      string      `json:"id"`
	Output  string      `json:"output"`
	IsError bool        `json:"is_error"`
	Images  []imagePart `json:"images,omitempty"`
}

type compactionLine struct {
	Type           string          `json:"type"`
	Summary        string          `json:"summary"`
	FirstKeptIndex int             `json:"first_kept_index"`
	TokensBefore   int             `json:"tokens_before"`
	Details        json.RawMessage `json:"details,omitempty"`
}

type extensionLine struct {
	Type      string          `json:"type"`
	Extension string          `json:"extension"`
	Data      json.RawMessage `json:"data"`
}

type nameLine struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

type selectionLine struct {
	Type     string `json:"type"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
}

// encodable returns the form of e that is written, nil for what is no event of ours.
func encodable(e Event) any {
	switch e := e.(type) {
	case User:
		return contentLine{"user", RoleUser, encodableParts(e.Content)}
	case Assistant:
		content := contentLine{"assistant", RoleAssistant, encodableParts(e.Content)}
		return assistantLine{content, e.Model, e.Provider, e.RequestedModel, e.Usage}
	case ToolResult:
		return resultLine{"tool_result", e.ID, e.Output, e.IsError, encodableImages(e.Images)}
	case Compaction:
		return compactionLine{"compaction", e.Summary, e.FirstKeptIndex, e.TokensBefore, rawJSON(e.Details)}
	case Extension:
		return extensionLine{"extension", e.Extension, rawJSON(e.Data)}
	case Name:
		return nameLine{"name", e.Name}
	case Selection:
		return selectionLine{"selection", e.Provider, e.Model}
	}
	return nil
}

// wireEvent takes in any event. No two kinds use one field name for two JSON types, so that a
// single decode serves all.
type wireEvent struct {
	Type           string          `json:"type"`
	Content        []wirePart      `json:"content"`
	Model          string          `json:"model"`
	Provider       string          `json:"provider"`
	RequestedModel string          `json:"requested_model"`
	Usage          *Usage          `json:"usage"`
	ID             string          `json:"id"`
	Output         string          `json:"output"`
	IsError        bool            `json:"is_error"`
	Images         []imagePart     `json:"images"`
	Summary        string          `json:"summary"`
	FirstKeptIndex int             `json:"first_kept_index"`
	TokensBefore   int             `json:"tokens_before"`
	Details        json.RawMessage `json:"details"`
	Extension      string          `json:"extension"`
	Data           json.RawMessage `json:"data"`
	Name           string          `json:"name"`
}

// event returns what w holds; nil when that is no known event, or has a part that is not known.
func (w *wireEvent) event() Event {
	switch w.Type {
	case "user", "assistant":
		parts := make([]Part, len(w.Content))
		for i := range w.Content {
			if parts[i] = w.Content[i].part(); parts[i] == nil {
				return nil
			}
		}
		if w.Type == "user" {
			return User{Content: parts}
		}
		return w.assistant(parts)
	case "tool_result":
		return ToolResult{ID: w.ID, Output: w.Output, IsError: w.IsError, Images: images(w.Images)}
	case "compaction":
		return Compaction{Summary: w.Summary, FirstKeptIndex: w.FirstKeptIndex, TokensBefore: w.TokensBefore, Details: w.Details}
	case "extension":
		return Extension{Extension: w.Extension, Data: w.Data}
	case "name":
		return Name{Name: w.Name}
	case "selection":
		return Selection{Provider: w.Provider, Model: w.Model}
	}
	return nil
}

func (w *wireEvent) assistant(parts []Part) Assistant {
	return Assistant{Content: parts, Model: w.Model, Provider: w.Provider, RequestedModel: w.RequestedModel, Usage: w.Usage}
}
