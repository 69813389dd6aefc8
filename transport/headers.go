package transport

import (
	"bytes"
	"encoding/json"
	"strconv"

	"go.lsp.dev/jsonrpc2"
)

const lengthHeader = "content-length:"

// headerReach is how far before a newline a header is looked for.
const headerReach = 256

// headers is the LSP framing. Header names count in any case, lines may end in LF alone, and headers
// other than Content-Length are ignored, as is anything before one on its line: that is the rest of a
// body whose own length was too small.
type headers struct {
	in   *input
	lost bool // between a refused header and the next good one; the rubble is not refused again
}

func (h *headers) next() ([]byte, error) {
	n, err := h.length()
	if err != nil {
		return nil, err
	}
	if n > uint64(h.in.max) {
		return nil, h.discard(n)
	}
	return h.body(int(n))
}

// length reads a block of headers and returns the Content-Length in it.
func (h *headers) length() (uint64, error) {
	var length uint64
	found, seen := false, false
	for {
		line, err := h.line()
		if err != nil {
			return 0, err
		}
		at := bytes.LastIndex(lower(line), []byte(lengthHeader))
		switch {
		case at >= 0:
			value := bytes.TrimSpace(line[at+len(lengthHeader):])
			length, err = strconv.ParseUint(string(value), 10, 63)
			found, seen = err == nil, true
		case len(line) > 0:
			seen = true
		case found:
			h.lost = false
			return length, nil
		case seen && !h.lost:
			h.lost = true
			return 0, refuse(jsonrpc2.ID{}, CodeParse, "no usable Content-Length in the header of the message")
		}
	}
}

// line returns one line of a header, trimmed. What is longer than any header loses its beginning.
func (h *headers) line() ([]byte, error) {
	seen := 0
	for {
		if i := bytes.IndexByte(h.in.pending()[seen:], '\n'); i >= 0 {
			return bytes.TrimSpace(h.in.take(seen + i + 1)), nil
		}
		seen = len(h.in.pending())
		if seen > chunk {
			h.in.take(seen - headerReach)
			seen = headerReach
		}
		if err := h.in.fill(); err != nil {
			return nil, err
		}
	}
}

// body returns the n bytes that follow, or fewer if the next header, or the end, comes first.
func (h *headers) body(n int) ([]byte, error) {
	seen := 0
	for len(h.in.pending()) < n {
		if at := findHeader(h.in.pending(), seen); at >= 0 {
			return h.in.take(at), nil
		}
		seen = len(h.in.pending())
		if err := h.in.fill(); err != nil {
			if seen > 0 {
				return h.in.take(seen), nil
			}
			return nil, err
		}
	}
	b := h.in.pending()[:n]
	if at := findHeader(b, seen); at >= 0 {
		return h.in.take(at), nil
	}
	return h.in.take(messageEnd(b)), nil
}

// discard reads past a body that is too long, up to its end or the next header.
func (h *headers) discard(n uint64) error {
	refused := tooLong(jsonrpc2.ID{}, h.in.max)
	for {
		p := h.in.pending()
		if uint64(len(p)) > n {
			p = p[:n]
		}
		if at := findHeader(p, 0); at >= 0 {
			h.in.take(at)
			return refused
		}
		if uint64(len(p)) == n {
			h.in.take(len(p))
			return refused
		}
		drop := max(0, len(p)-headerReach)
		h.in.take(drop)
		n -= uint64(drop)
		if h.in.fill() != nil {
			return refused
		}
	}
}

// findHeader returns where in b a header begins whose line ends at or after from, or -1. There is none
// in valid JSON: a raw newline cannot stand in a string, and outside of strings there is no letter C.
func findHeader(b []byte, from int) int {
	for {
		i := bytes.IndexByte(b[from:], '\n')
		if i < 0 {
			return -1
		}
		end := from + i
		start := max(0, end-headerReach)
		start += bytes.LastIndexAny(b[start:end], "\"\n") + 1
		line := lower(b[start:end])
		for _, name := range []string{"content-type:", lengthHeader} {
			if at := bytes.Index(line, []byte(name)); at >= 0 {
				return start + at
			}
		}
		from = end + 1
	}
}

// messageEnd returns how much of a body is the message. It is all, unless the length was a little too
// large and the beginning of the next header was swallowed.
func messageEnd(b []byte) int {
	if t := bytes.TrimSpace(b); len(t) == 0 || t[len(t)-1] == '}' || t[len(t)-1] == ']' {
		return len(b)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	var first json.RawMessage
	if d.Decode(&first) != nil {
		return len(b)
	}
	return int(d.InputOffset())
}

// lower maps A-Z alone. bytes.ToLower would also mend bad UTF-8, and so move what follows it.
func lower(b []byte) []byte {
	l := bytes.Clone(b)
	for i, c := range l {
		if 'A' <= c && c <= 'Z' {
			l[i] = c + 'a' - 'A'
		}
	}
	return l
}
