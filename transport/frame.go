package transport

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"go.lsp.dev/jsonrpc2"
)

// headerRoom is what the header of a message needs at most.
const headerRoom = len("Content-Length: ") + 20 + len("\r\n\r\n")

// A frame is one message as it goes out, and where to tell that it was written. It is its sender's
// again when done has been received from; one that was given up stays the writer's.
type frame struct {
	buf  []byte
	wire []byte     // the part of buf to write, in one Write
	done chan error // buffered, so that nobody has to be there to hear
}

// compose encodes msg into the frame and returns the message without its framing.
func (f *frame) compose(d Dialect, msg jsonrpc2.Message) (body []byte) {
	f.buf = jsonrpc2.AppendMessage(append(f.buf[:0], make([]byte, headerRoom)...), msg)
	if body = f.buf[headerRoom:]; !utf8.Valid(body) {
		f.buf = append(f.buf[:headerRoom], bytes.ToValidUTF8(body, []byte("\uFFFD"))...)
		body = f.buf[headerRoom:]
	}
	if d != LSP {
		f.buf = append(f.buf, '\n')
		f.wire = f.buf[headerRoom:]
		return body
	}
	var head [headerRoom]byte
	h := append(head[:0], "Content-Length: "...)
	h = strconv.AppendInt(h, int64(len(body)), 10)
	h = append(h, "\r\n\r\n"...)
	f.wire = f.buf[headerRoom-len(h):]
	copy(f.wire, h)
	return body
}
