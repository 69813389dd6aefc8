package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"go.lsp.dev/jsonrpc2"
)

// Codes of JSON-RPC 2.0, and CodeCancelled, which LSP and ACP share.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeCancelled      = -32800
)

// An Error is a failure as JSON-RPC tells it: what a handler returns to choose the code, and what
// Call returns when the peer answered with an error.
type Error struct {
	Code    int    // int32 on the wire
	Message string // one sentence for a person
	Data    any    // encoded with encoding/json, nil for none; a json.RawMessage when it came from the peer
}

// Error is the message alone: the code is for programs.
func (e *Error) Error() string { return e.Message }

// Errorf makes an Error without data.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// A refusal is the answer to input that is no request. The zero id is sent as null.
type refusal struct {
	id  jsonrpc2.ID
	err *jsonrpc2.Error
}

func (r *refusal) Error() string { return r.err.Message }

func refuse(id jsonrpc2.ID, code int, format string, args ...any) *refusal {
	return &refusal{id: id, err: jsonrpc2.Errorf(jsonrpc2.Code(code), format, args...)}
}

// wireError is what the peer is told of err, which came from a handler that ran under ctx. A killed
// child or a closed file is how cancelling shows, so under a cancelled ctx any error counts as that.
func wireError(ctx context.Context, err error) *jsonrpc2.Error {
	var coded *Error
	switch {
	case errors.As(err, &coded) && coded != nil:
		return &jsonrpc2.Error{Code: jsonrpc2.Code(coded.Code), Message: err.Error(), Data: errorData(coded.Data)}
	case errors.Is(err, context.Canceled), ctx.Err() != nil:
		return jsonrpc2.NewError(CodeCancelled, "request cancelled")
	}
	return jsonrpc2.NewError(CodeInternal, err.Error())
}

// errorData encodes data; what cannot be encoded is replaced by the reason, since an error that says
// less is better than none.
func errorData(data any) jsonrpc2.RawMessage {
	if data == nil {
		return nil
	}
	raw, err := encode(data)
	if err != nil {
		raw, _ = encode(err.Error()) // a string always encodes
	}
	return raw
}

// peerError turns the error that a peer answered with into ours, or returns nil if err is not that.
func peerError(err error) error {
	var wire *jsonrpc2.Error
	if !errors.As(err, &wire) {
		return nil
	}
	e := &Error{Code: int(wire.Code), Message: wire.Message}
	if len(wire.Data) > 0 {
		e.Data = json.RawMessage(wire.Data)
	}
	return e
}

// encode is how every payload is put on the wire: compact, on one line, <, > and & as they are. A
// json.RawMessage is checked on the way, so a handler's mistake never breaks the framing.
func encode(v any) (jsonrpc2.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
