package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	fastjson "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The rules of the codec are:
//
//   - an event is one JSON object with a "type", as seed 000, "Session entries", has it;
//   - "type" is written first, so that a line's kind is seen without decoding the line;
//   - a line holds no byte that any reader might take for the end of a line: no raw newline, no
//     raw U+2028 or U+2029, no NUL; text that is not UTF-8 gets U+FFFD for what is not;
//   - decoding never fails: what this version does not know, or finds of another type than it
//     knows, is Unknown or UnknownPart and keeps its bytes.

// EncodeEvent returns e as one line of a session file, without the newline. What is Unknown is
// given back as it was. A json.RawMessage that is no JSON becomes a string that holds its text.
func EncodeEvent(e Event) ([]byte, error) {
	if u, ok := e.(Unknown); ok && json.Valid(u.Raw) {
		return oneLine(u.Raw)
	}
	wire := encodable(e)
	if wire == nil {
		return nil, fmt.Errorf("encoding a session event: %T is no event this version writes", e)
	}
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(wire); err != nil {
		return nil, fmt.Errorf("encoding a session event: %w", err)
	}
	return oneLine(bytes.TrimSuffix(line.Bytes(), []byte("\n")))
}

// DecodeEvent returns the event that line holds. What is no known event is Unknown; what is no
// JSON object at all is Unknown with {"type":"damaged"} for its Raw, which is always JSON.
func DecodeEvent(line []byte) Event {
	var w wireEvent
	if decode(line, &w) {
		if e := w.event(); e != nil {
			return e
		}
	}
	return decodeOdd(line)
}

// decodeOdd is DecodeEvent for a line that holds something unexpected, maybe in one part only.
func decodeOdd(line []byte) Event {
	line = bytes.TrimSpace(line)
	if !isObject(line) {
		return Unknown{Raw: json.RawMessage(damagedRaw)}
	}
	var w struct {
		wireEvent
		Content []json.RawMessage `json:"content"` // hides wireEvent's, which takes known parts only
	}
	if decode(line, &w) {
		parts := make([]Part, len(w.Content))
		for i, raw := range w.Content {
			parts[i] = decodePart(raw)
		}
		switch w.Type {
		case "user":
			return User{Content: parts}
		case "assistant":
			return w.assistant(parts)
		}
	}
	return Unknown{Raw: bytes.Clone(line)}
}

// damagedRaw stands for a line that cannot be read, so that positions of later events stay.
const damagedRaw = `{"type":"damaged"}`

// decode fills into from JSON and says whether that fits. Loading a session is mostly this, and
// the package used takes half the time that encoding/json does; the transport needs it anyway.
func decode(line []byte, into any) bool {
	return fastjson.Unmarshal(line, into, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) == nil
}

// isObject says whether line, without space around it, is a JSON object.
func isObject(line []byte) bool {
	lenient := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
	return len(line) > 0 && line[0] == '{' && jsontext.Value(line).IsValid(lenient...)
}

// oneLine makes sure that no reader can split line: JSON allows newlines between tokens and raw
// line separators in strings.
func oneLine(line []byte) ([]byte, error) {
	if bytes.IndexByte(line, '\n') >= 0 || bytes.IndexByte(line, '\r') >= 0 {
		var flat bytes.Buffer
		if err := json.Compact(&flat, line); err != nil {
			return nil, fmt.Errorf("encoding a session event: %w", err)
		}
		line = flat.Bytes()
	}
	if !utf8.Valid(line) {
		line = bytes.ToValidUTF8(line, []byte("\uFFFD"))
	}
	if bytes.Contains(line, []byte("\u2028")) || bytes.Contains(line, []byte("\u2029")) {
		line = bytes.ReplaceAll(line, []byte("\u2028"), []byte(`\u2028`))
		line = bytes.ReplaceAll(line, []byte("\u2029"), []byte(`\u2029`))
	}
	return line, nil
}

// rawJSON returns raw where it is JSON, and a string of its text where not: a model's broken
// arguments must neither be lost nor break the line. An empty raw stays empty.
func rawJSON(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || json.Valid(raw) {
		return raw
	}
	text, err := json.Marshal(string(raw))
	if err != nil { // a string always encodes
		text = []byte(strconv.Quote("?"))
	}
	return text
}

// objectJSON is rawJSON for what must not be absent.
func objectJSON(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return rawJSON(raw)
}
