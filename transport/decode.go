package transport

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"go.lsp.dev/jsonrpc2"
)

// decode reads one message out of a frame. A request borrows from the frame, a response does not.
func decode(frame []byte) (jsonrpc2.Message, error) {
	if !utf8.Valid(frame) {
		frame = bytes.ToValidUTF8(frame, []byte("\uFFFD"))
	}
	if !json.Valid(frame) {
		return nil, refuse(jsonrpc2.ID{}, CodeParse, "message is not valid JSON")
	}
	view, err := jsonrpc2.ScanMessageView(frame)
	if err != nil {
		return mend(frame)
	}
	switch view.Kind {
	case jsonrpc2.MessageViewCall, jsonrpc2.MessageViewNotification:
		return decodeRequest(frame, view)
	}
	msg, err := view.Owned()
	if err != nil {
		return mend(frame)
	}
	return msg, nil
}

// decodeRequest refuses the id null, which the library takes for none.
func decodeRequest(frame []byte, view jsonrpc2.MessageView) (jsonrpc2.Message, error) {
	id, idOK := view.ID.ID()
	method, methodOK := view.MethodString()
	switch {
	case !idOK || !methodOK:
		return mend(frame)
	case view.Kind == jsonrpc2.MessageViewCall:
		return jsonrpc2.NewCall(id, method, view.Params), nil
	case view.IDRaw != nil:
		return nil, refuse(jsonrpc2.ID{}, CodeInvalidRequest, "id is null; it must be an integer or a string")
	}
	return jsonrpc2.NewNotification(method, view.Params), nil
}

// mend makes the best of JSON that is no message by the letter. An answer to one of our calls is
// accepted from peers that leave out jsonrpc or send both result and error, one of them null: nobody
// could tell them otherwise, since an error in reply to an answer would look like an answer. All else
// is refused, with its id if that can be told.
func mend(frame []byte) (jsonrpc2.Message, error) {
	var m map[string]json.RawMessage
	if json.Unmarshal(frame, &m) != nil {
		if bytes.HasPrefix(bytes.TrimLeft(frame, " \t\r\n"), []byte("[")) {
			return nil, refuse(jsonrpc2.ID{}, CodeInvalidRequest, "batches are not supported; send one message at a time")
		}
		return nil, refuse(jsonrpc2.ID{}, CodeInvalidRequest, "message is not a JSON object")
	}
	id, idOK := parseID(m["id"])
	if _, ok := m["method"]; !ok && (m["result"] != nil || m["error"] != nil) {
		return jsonrpc2.NewResponse(id, jsonrpc2.RawMessage(m["result"]), mendError(m["error"])), nil
	}
	var method *string
	switch {
	case m["id"] != nil && !idOK:
		return nil, refuse(id, CodeInvalidRequest, "id must be an integer of 64 bits or a string")
	case json.Unmarshal(m["method"], &method) != nil || method == nil:
		return nil, refuse(id, CodeInvalidRequest, "method must be a string")
	case string(m["jsonrpc"]) != `"2.0"`:
		return nil, refuse(id, CodeInvalidRequest, `jsonrpc must be "2.0"`)
	}
	return nil, refuse(id, CodeInvalidRequest, "message is neither a request nor an answer")
}

// mendError reads an error object as far as it goes; nil if raw is absent or null.
func mendError(raw json.RawMessage) error {
	if raw == nil || string(raw) == "null" {
		return nil
	}
	var fields struct{ Code, Message json.RawMessage }
	e := jsonrpc2.NewError(CodeInternal, string(raw))
	if json.Unmarshal(raw, &fields) == nil {
		_ = json.Unmarshal(fields.Code, &e.Code) // what is no code or message keeps the default
		_ = json.Unmarshal(fields.Message, &e.Message)
	}
	return e
}

// parseID reads an id; not ok means that it is absent, null or of another kind.
func parseID(raw json.RawMessage) (id jsonrpc2.ID, ok bool) {
	var number *int64
	if json.Unmarshal(raw, &number) == nil && number != nil {
		return jsonrpc2.NewNumberID(*number), true
	}
	var text *string
	if json.Unmarshal(raw, &text) == nil && text != nil {
		return jsonrpc2.NewStringID(*text), true
	}
	return jsonrpc2.ID{}, false
}
