package modeltest

import (
	"encoding/json"
	"strings"
)

// anthropicPieces returns what stands in the messages of a Messages request. What is not in the
// dialect was reported by its schema already, and is left out.
func anthropicPieces(messages []any) (all []Piece) {
	for i, m := range messages {
		message, _ := m.(object)
		content, _ := message["content"].([]any)
		for _, c := range content {
			b, _ := c.(object)
			p := Piece{Role: text(message["role"]), message: i, ID: text(b["id"]), Name: text(b["name"])}
			switch b["type"] {
			case "text":
				p.Kind, p.Text = "text", text(b["text"])
			case "image":
				source, _ := b["source"].(object)
				p.Kind, p.Text = "image", text(source["media_type"])
			case "thinking":
				p.Kind, p.Text, p.signature = "thinking", text(b["thinking"]), text(b["signature"])
			case "redacted_thinking":
				p.Kind, p.signature = "thinking", text(b["data"])
			case "tool_use":
				p.Kind, p.Text = "call", encoded(b["input"])
			case "tool_result":
				p.Kind, p.ID, p.failed = "result", text(b["tool_use_id"]), b["is_error"] == true
				all = append(all, withResult(p, b["content"])...)
				continue
			}
			all = append(all, p)
		}
	}
	return all
}

// resultImage is the kind of a picture in a result.
const resultImage = "result image"

// withResult returns the text of a result as p, and the pictures in it.
func withResult(p Piece, content any) []Piece {
	var images []Piece
	parts, _ := content.([]any)
	for _, c := range parts {
		part, _ := c.(object)
		if part["type"] == "image" {
			source, _ := part["source"].(object)
			images = append(images, Piece{Role: p.Role, Kind: resultImage, Text: text(source["media_type"]), ID: p.ID, message: p.message})
			continue
		}
		p.Text += text(part["text"])
	}
	return append([]Piece{p}, images...)
}

// openaiPieces returns what stands in the messages of a Chat Completions request.
func openaiPieces(messages []any) (all []Piece) {
	for i, m := range messages {
		message, _ := m.(object)
		p := Piece{Role: text(message["role"]), message: i}
		switch p.Role {
		case "system":
			continue
		case "tool":
			p.Role, p.Kind, p.Text, p.ID = "user", "result", text(message["content"]), text(message["tool_call_id"])
			all = append(all, p)
			continue
		}
		if thought := text(message["reasoning_content"]); thought != "" {
			all = append(all, Piece{Role: p.Role, Kind: "thinking", Text: thought, message: i})
		}
		all = append(all, chatPieces(p, message["content"])...)
		calls, _ := message["tool_calls"].([]any)
		for _, c := range calls {
			call, _ := c.(object)
			function, _ := call["function"].(object)
			all = append(all, Piece{Role: p.Role, Kind: "call", ID: text(call["id"]), Name: text(function["name"]), Text: text(function["arguments"]), message: i})
		}
	}
	return all
}

func chatPieces(p Piece, content any) (all []Piece) {
	switch c := content.(type) {
	case string:
		p.Kind, p.Text = "text", c
		return []Piece{p}
	case []any:
		for _, item := range c {
			part, _ := item.(object)
			if part["type"] == "text" {
				p.Kind, p.Text = "text", text(part["text"])
			} else {
				image, _ := part["image_url"].(object)
				kind, _, _ := strings.Cut(strings.TrimPrefix(text(image["url"]), "data:"), ";")
				p.Kind, p.Text = "image", kind
			}
			all = append(all, p)
		}
	}
	return all
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func encoded(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic("modeltest: what was decoded encodes: " + err.Error())
	}
	return string(data)
}
