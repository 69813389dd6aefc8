package session

import (
	"bytes"
	"encoding/json"
)

type textPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type thinkingPart struct {
	Type      string `json:"type"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
}

type usePart struct {
	Type             string          `json:"type"`
	ID               string          `json:"id"`
	Name             string          `json:"name"`
	Input            json.RawMessage `json:"input"`
	ParseError       string          `json:"parse_error,omitempty"`
	Hosted           bool            `json:"hosted,omitempty"`
	ThoughtSignature string          `json:"thought_signature,omitempty"`
}

type outputPart struct {
	Type      string      `json:"type"`
	ToolUseID string      `json:"tool_use_id"`
	Content   string      `json:"content"`
	IsError   bool        `json:"is_error"`
	Images    []imagePart `json:"images,omitempty"`
}

type imagePart struct {
	Type     string `json:"type"`
	MIMEType string `json:"mimeType"`
	Path     string `json:"path,omitempty"`
	Data     string `json:"data,omitempty"`
}

type filePart struct {
	imagePart
	Filename string `json:"filename,omitempty"`
}

type sourcePart struct {
	Type      string          `json:"type"`
	URL       string          `json:"url"`
	Title     string          `json:"title"`
	ID        string          `json:"id,omitempty"`
	CitedText string          `json:"cited_text,omitempty"`
	Raw       json.RawMessage `json:"raw,omitempty"`
}

// encodableParts returns the forms of parts that are written; never nil, since a reader may
// expect an array.
func encodableParts(parts []Part) []any {
	wire := make([]any, 0, len(parts))
	for _, p := range parts {
		if w := encodablePart(p); w != nil {
			wire = append(wire, w)
		}
	}
	return wire
}

func encodablePart(p Part) any {
	switch p := p.(type) {
	case Text:
		return textPart{"text", p.Text}
	case Thinking:
		return thinkingPart{"thinking", p.Thinking, p.Signature}
	case ToolUse:
		return usePart{"tool_use", p.ID, p.Name, objectJSON(p.Input), p.ParseError, p.Hosted, p.ThoughtSignature}
	case ToolOutput:
		return outputPart{"tool_result", p.ToolUseID, p.Content, p.IsError, encodableImages(p.Images)}
	case Image:
		return imagePart{"image", p.MIMEType, p.Path, p.Data}
	case File:
		return filePart{imagePart{"file", p.MIMEType, p.Path, p.Data}, p.Filename}
	case Source:
		return sourcePart{"source", p.URL, p.Title, p.ID, p.CitedText, rawJSON(p.Raw)}
	case UnknownPart:
		return rawJSON(p.Raw)
	}
	return nil
}

func encodableImages(list []Image) []imagePart {
	var wire []imagePart
	for _, i := range list {
		wire = append(wire, imagePart{"image", i.MIMEType, i.Path, i.Data})
	}
	return wire
}

func images(wire []imagePart) []Image {
	var list []Image
	for _, i := range wire {
		list = append(list, Image{MIMEType: i.MIMEType, Path: i.Path, Data: i.Data})
	}
	return list
}

// wirePart takes in any part, as wireEvent does any event.
type wirePart struct {
	Type             string          `json:"type"`
	Text             string          `json:"text"`
	Thinking         string          `json:"thinking"`
	Signature        string          `json:"signature"`
	ID               string          `json:"id"`
	Name             string          `json:"name"`
	Input            json.RawMessage `json:"input"`
	ParseError       string          `json:"parse_error"`
	Hosted           bool            `json:"hosted"`
	ThoughtSignature string          `json:"thought_signature"`
	ToolUseID        string          `json:"tool_use_id"`
	Content          string          `json:"content"`
	IsError          bool            `json:"is_error"`
	Images           []imagePart     `json:"images"`
	MIMEType         string          `json:"mimeType"`
	Path             string          `json:"path"`
	Data             string          `json:"data"`
	Filename         string          `json:"filename"`
	URL              string          `json:"url"`
	Title            string          `json:"title"`
	CitedText        string          `json:"cited_text"`
	Raw              json.RawMessage `json:"raw"`
}

// part returns what w holds, nil when it is of no known type.
func (w *wirePart) part() Part {
	switch w.Type {
	case "text":
		return Text{Text: w.Text}
	case "thinking":
		return Thinking{Thinking: w.Thinking, Signature: w.Signature}
	case "tool_use":
		call := Call{ID: w.ID, Name: w.Name, Input: objectJSON(w.Input)}
		return ToolUse{Call: call, ParseError: w.ParseError, Hosted: w.Hosted, ThoughtSignature: w.ThoughtSignature}
	case "tool_result":
		return ToolOutput{ToolUseID: w.ToolUseID, Content: w.Content, IsError: w.IsError, Images: images(w.Images)}
	case "image":
		return Image{MIMEType: w.MIMEType, Path: w.Path, Data: w.Data}
	case "file":
		return File{MIMEType: w.MIMEType, Path: w.Path, Data: w.Data, Filename: w.Filename}
	case "source":
		return Source{URL: w.URL, Title: w.Title, ID: w.ID, CitedText: w.CitedText, Raw: w.Raw}
	}
	return nil
}

// decodePart returns the part that raw holds, UnknownPart where that is none this version knows.
func decodePart(raw json.RawMessage) Part {
	var w wirePart
	if decode(raw, &w) {
		if p := w.part(); p != nil {
			return p
		}
	}
	return UnknownPart{Raw: bytes.Clone(raw)}
}
