package transport

import (
	"bytes"
	"encoding/json"

	"go.uber.org/zap"
)

// utf8BOM is what some Windows programs put before anything they write.
const utf8BOM = "\xef\xbb\xbf"

// opening skips what precedes the first message and returns how to read on. want is the dialect to
// wait for, zero for either: then the first line that begins with { is ACP and the first that begins
// with Content- is LSP. One that begins with [ is ACP if it is, or goes on like, a batch; shells and
// loggers begin lines with that too.
func opening(in *input, want Dialect, log *zap.Logger) (Dialect, framing, error) {
	for {
		d, err := guess(in)
		switch {
		case err != nil:
			return 0, nil, err
		case d == ACP && want != LSP:
			return ACP, lines{in}, nil
		case d == LSP && want != ACP:
			return LSP, &headers{in: in}, nil
		}
		noise, err := lines{in}.next()
		if err != nil && in.err != nil {
			return 0, nil, err
		}
		log.Warn("skipping a line before the first message", zap.ByteString("line", noise[:min(len(noise), 200)]))
	}
}

// guess looks at the line that comes next and tells which dialect it opens, zero for none.
func guess(in *input) (Dialect, error) {
	const header = "content-"
	for {
		skipBlank(in)
		p := in.pending()
		word := lower(p[:min(len(p), len(header))])
		switch {
		case len(p) > 0 && p[0] == '{':
			return ACP, nil
		case len(p) > 0 && p[0] == '[':
			return guessBatch(in)
		case string(word) == header:
			return LSP, nil
		case !bytes.HasPrefix([]byte(header), word) && !bytes.HasPrefix([]byte(utf8BOM), p):
			return 0, nil
		}
		if err := in.fill(); err != nil {
			if len(p) > 0 {
				return 0, nil
			}
			return 0, err
		}
	}
}

func skipBlank(in *input) {
	p := in.pending()
	rest := bytes.TrimLeft(bytes.TrimPrefix(bytes.TrimLeft(p, " \t\r\n"), []byte(utf8BOM)), " \t\r\n")
	in.take(len(p) - len(rest))
}

// guessBatch decides about a line that begins with [.
func guessBatch(in *input) (Dialect, error) {
	line, err := lines{in}.next()
	if err != nil {
		return 0, err
	}
	in.untake(len(line))
	if json.Valid(line) || bytes.HasPrefix(bytes.TrimLeft(line[1:], " \t"), []byte("{")) {
		return ACP, nil
	}
	return 0, nil
}
