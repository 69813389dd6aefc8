package transport

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// frames reads everything and returns the messages, and the refusals as "id code".
func frames(t *testing.T, f framing) (got []string) {
	t.Helper()
	for {
		b, err := f.next()
		var bad *refusal
		switch {
		case errors.As(err, &bad):
			got = append(got, fmt.Sprintf("%v %d", bad.id, bad.err.Code))
		case err == io.EOF:
			return got
		case err != nil:
			t.Fatal(err)
		default:
			got = append(got, strings.TrimSpace(string(b)))
		}
	}
}

func TestWhatIsTooLongIsReadPast(t *testing.T) {
	const limit = 1000
	long := func(head string) string { return head + strings.Repeat("x", 300<<10) + `"]}` }
	tests := []struct {
		name, wire string
		d          Dialect
		want       []string
	}{
		{"line, id first", long(`{"jsonrpc":"2.0","id":7,"method":"m","params":["`) + "\n{}\n", ACP, []string{"7 -32600", "{}"}},
		{"line, string id", long(`{"id":"a","params":["`) + "\n{}\n", ACP, []string{"a -32600", "{}"}},
		{"line, id after", strings.TrimSuffix(long(`{"params":["`), "}") + `,"id":7}` + "\n{}\n", ACP, []string{"null -32600", "{}"}},
		{"line, no JSON", strings.Repeat("x", limit+1) + "\n{}\n", ACP, []string{"null -32600", "{}"}},
		{"line without end", strings.Repeat("x", 5*limit), ACP, []string{"null -32600"}},
		{"longest line", strings.Repeat("x", limit-1) + "\n{}\n", ACP, []string{strings.Repeat("x", limit-1), "{}"}},
		{"body", frameText(LSP, long(`{"a":["`)) + frameText(LSP, "{}"), LSP, []string{"null -32600", "{}"}},
		{"body that ends early", "Content-Length: 99999999\r\n\r\n" + long(`{"a":["`) + frameText(LSP, "{}"), LSP, []string{"null -32600", "{}"}},
		{"body without end", "Content-Length: 99999999\r\n\r\n" + long(`{"a":["`), LSP, []string{"null -32600"}},
		{"longest body", frameText(LSP, strings.Repeat("x", limit)) + frameText(LSP, "{}"), LSP, []string{strings.Repeat("x", limit), "{}"}},
		{"header", strings.Repeat("X: y", 100<<10) + "\r\n" + frameText(LSP, "{}"), LSP, []string{"{}"}},
		{"header without newline", strings.Repeat("x", 300<<10) + frameText(LSP, "{}"), LSP, []string{"{}"}},
	}
	for _, tt := range tests {
		for _, byByte := range []bool{false, true} {
			var src io.Reader = strings.NewReader(tt.wire)
			if byByte {
				src = iotest.OneByteReader(src)
			}
			in := &input{src: src, max: limit}
			var f framing = lines{in}
			if tt.d == LSP {
				f = &headers{in: in}
			}
			if diff := cmp.Diff(tt.want, frames(t, f)); diff != "" {
				t.Errorf("%s, by byte %v: (-want +got)\n%s", tt.name, byByte, diff)
			}
			if cap(in.buf) > keep {
				t.Errorf("%s: %d bytes of buffer were left", tt.name, cap(in.buf))
			}
		}
	}
}

func TestInputKeepsNoMoreThanItNeeds(t *testing.T) {
	long := strings.Repeat("x", 3*keep)
	in := &input{src: strings.NewReader(long + "\n" + strings.Repeat("short\n", 1<<20)), max: maxMessage}
	f, largest := lines{in}, 0
	for n := 0; ; n++ {
		if _, err := f.next(); err != nil {
			break
		}
		if n > 4*keep/len("short\n") { // by then what was read together with the long line is used up
			largest = max(largest, cap(in.buf))
		}
	}
	if largest > keep {
		t.Errorf("short lines were read into %d bytes", largest)
	}
}

func TestAReaderThatGivesNothingIsNoHang(t *testing.T) {
	in := &input{src: nothing{}, max: maxMessage}
	if _, err := (lines{in}).next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("error %v", err)
	}
}

type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, nil }
