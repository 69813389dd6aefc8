package transport

import (
	"bytes"
	"encoding/json"

	"go.lsp.dev/jsonrpc2"
)

// A framing finds messages in an input. next returns the bytes of one, valid until it is called again;
// a *refusal, after which reading goes on; or what ended the input.
type framing interface {
	next() ([]byte, error)
}

// lines is the ACP framing. The last line need not end in a newline.
type lines struct {
	in *input
}

func (l lines) next() ([]byte, error) {
	seen := 0
	for {
		if i := bytes.IndexByte(l.in.pending()[seen:], '\n'); i >= 0 {
			line := l.in.take(seen + i + 1)
			if len(line) > l.in.max {
				return nil, tooLong(leadingID(line), l.in.max)
			}
			return line, nil
		}
		if seen = len(l.in.pending()); seen > l.in.max {
			return nil, l.discard()
		}
		if err := l.in.fill(); err != nil {
			if seen > 0 {
				return l.in.take(seen), nil
			}
			return nil, err
		}
	}
}

// discard reads past a line that is too long, without keeping it.
func (l lines) discard() error {
	refused := tooLong(leadingID(l.in.pending()), l.in.max)
	for {
		p := l.in.pending()
		if i := bytes.IndexByte(p, '\n'); i >= 0 {
			l.in.take(i + 1)
			return refused
		}
		l.in.take(len(p))
		if l.in.fill() != nil {
			return refused
		}
	}
}

func tooLong(id jsonrpc2.ID, limit int) *refusal {
	return refuse(id, CodeInvalidRequest, "message is longer than %d bytes; it was not read", limit)
}

// leadingID finds the id of a message of which only the beginning is known, so that the peer's call
// gets its answer. Most peers write the id before the params; for the others it is the zero ID.
func leadingID(head []byte) jsonrpc2.ID {
	d := json.NewDecoder(bytes.NewReader(head[:min(len(head), chunk)]))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return jsonrpc2.ID{}
	}
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			break
		}
		if key == "id" {
			id, _ := parseID(value)
			return id
		}
	}
	return jsonrpc2.ID{}
}
