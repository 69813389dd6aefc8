package acp

import (
	"context"
	"encoding/json"
	"errors"

	"nimlet/server"
	"nimlet/session"
	"nimlet/transport"
)

// codeNotFound is ACP's own: a session or file does not exist.
const codeNotFound = -32002

// decode reads the parameters of a request.
func decode(raw json.RawMessage, into any) error {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	err := json.Unmarshal(raw, into)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return invalid(wrong.Field, "expected %s, got %s", jsonType(wrong), wrong.Value)
	}
	if err != nil {
		return transport.Errorf(transport.CodeInvalidParams, "reading the parameters: %v", err)
	}
	return nil
}

// jsonType names what a field should have been, in JSON's words.
func jsonType(e *json.UnmarshalTypeError) string {
	switch kind := e.Type.Kind().String(); kind {
	case "struct", "map":
		return "object"
	case "slice":
		return "array"
	default:
		return kind
	}
}

func missing(field string) error { return invalid(field, "is required") }

func invalid(field, format string, args ...any) error {
	return transport.Errorf(transport.CodeInvalidParams, field+": "+format, args...)
}

// rpcError gives an error of the server its code. It is the one place that knows them.
func rpcError(err error) error {
	var rpc *transport.Error
	var place *server.PlaceError
	var locked *session.LockedError
	switch {
	case err == nil, errors.As(err, &rpc), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, server.ErrNotFound):
		return transport.Errorf(codeNotFound, "%v", err)
	case errors.As(err, &place), errors.Is(err, session.ErrCursor):
		return transport.Errorf(transport.CodeInvalidParams, "%v", err)
	case errors.As(err, &locked):
		return transport.Errorf(transport.CodeInternal, "%v", err)
	default:
		return transport.Errorf(transport.CodeInternal, "%v", err)
	}
}
