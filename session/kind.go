package session

import "bytes"

// A kind is what is known of a line without decoding it: enough to find the title, the mode, the
// selection and the last compaction of a long session while most of it stays on disk.
type kind uint8

const (
	kindDamaged kind = iota // no JSON object
	kindUnknown
	kindHeader
	kindUser
	kindAssistant
	kindResult
	kindCompaction
	kindExtension
	kindMode // an extension event that is a Mark of a mode
	kindName
	kindSelection
)

// kindNamed returns the kind of an event by its "type".
func kindNamed(name string) kind {
	switch name {
	case "session":
		return kindHeader
	case "user":
		return kindUser
	case "assistant":
		return kindAssistant
	case "tool_result":
		return kindResult
	case "compaction":
		return kindCompaction
	case "extension":
		return kindExtension
	case "name":
		return kindName
	case "selection":
		return kindSelection
	}
	return kindUnknown
}

// kindOf returns the kind that e has as a line.
func kindOf(e Event) kind {
	switch e := e.(type) {
	case User:
		return kindUser
	case Assistant:
		return kindAssistant
	case ToolResult:
		return kindResult
	case Compaction:
		return kindCompaction
	case Extension:
		if m, ok := MarkOf(e); ok && m.Mode != "" {
			return kindMode
		}
		return kindExtension
	case Name:
		return kindName
	case Selection:
		return kindSelection
	}
	return kindUnknown
}

// headSize is how much of a line sniff needs to see: what stands before a mark's first field.
const headSize = 64

var (
	typeHead = []byte(`{"type":"`)
	oursHead = []byte(`{"type":"extension","extension":"` + Reserved + `"`)
	markHead = []byte(`{"type":"extension","extension":"` + Reserved + `","data":{"`)
	modeHead = []byte(`mode"`)
	nameHead = []byte(`{"type":"extension","extension":"`)
)

// sniff tells the kind of a line from its first headSize bytes. sure is false when the line does
// not begin as this package writes it and must be read whole (kindWhole).
func sniff(head []byte) (k kind, sure bool) {
	rest, found := bytes.CutPrefix(head, typeHead)
	if !found {
		return 0, false
	}
	end := bytes.IndexByte(rest, '"')
	if end < 0 || bytes.IndexByte(rest[:end], '\\') >= 0 {
		return 0, false
	}
	k = kindNamed(string(rest[:end]))
	switch {
	case k != kindExtension:
		return k, true
	case bytes.HasPrefix(head, markHead):
		if bytes.HasPrefix(head[len(markHead):], modeHead) {
			return kindMode, true
		}
		return kindExtension, true
	default:
		return kindExtension, bytes.HasPrefix(head, nameHead) && !bytes.HasPrefix(head, oursHead)
	}
}

// kindWhole tells the kind of a line from all of it, whatever the order and spacing of its keys.
func kindWhole(line []byte) kind {
	var w struct {
		Type string `json:"type"`
	}
	line = bytes.TrimSpace(line)
	if !isObject(line) {
		return kindDamaged
	}
	if !decode(line, &w) {
		return kindUnknown
	}
	if k := kindNamed(w.Type); k != kindExtension {
		return k
	}
	return kindOf(DecodeEvent(line))
}
