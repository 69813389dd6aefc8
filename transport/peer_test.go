package transport

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// hang is the bound for what should take next to no time; reaching it means that it never ends.
const hang = 2 * time.Minute

func TestMain(m *testing.M) {
	if role := os.Getenv("TRANSPORT_TEST_ROLE"); role != "" {
		play(role)
		return
	}
	goleak.VerifyTestMain(m)
}

// A peer is the other end of a connection that Serve serves over two real pipes.
type peer struct {
	t       testing.TB
	dialect Dialect
	in      *os.File // what the server reads
	out     *bufio.Reader
	outFile *os.File
	served  chan error
	cancel  context.CancelFunc
}

func connect(t testing.TB, speak Dialect, o Options, newHandler func(*Conn) Handler) *peer {
	t.Helper()
	serverIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, serverOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	p := &peer{
		t: t, dialect: speak, in: in, out: bufio.NewReader(out), outFile: out,
		served: make(chan error, 1), cancel: cancel,
	}
	go func() { p.served <- Serve(ctx, serverIn, serverOut, o, newHandler) }()
	t.Cleanup(func() {
		in.Close()
		out.Close()
		cancel()
		p.wait()
	})
	return p
}

// wait returns what Serve returned.
func (p *peer) wait() error {
	p.t.Helper()
	select {
	case err := <-p.served:
		p.served <- err
		return err
	case <-time.After(hang):
		p.t.Fatal("Serve does not return")
		return nil
	}
}

// frame puts a message, or what should have been one, into the peer's framing.
func frameText(d Dialect, body string) string {
	if d == LSP {
		return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
	}
	return body + "\n"
}

func (p *peer) send(bodies ...string) {
	p.t.Helper()
	for _, b := range bodies {
		p.raw(frameText(p.dialect, b))
	}
}

func (p *peer) raw(s string) {
	p.t.Helper()
	if _, err := p.in.WriteString(s); err != nil {
		p.t.Fatalf("writing to the server: %v", err)
	}
}

// A message is any message the server sends.
type message struct {
	JSONRPC string
	ID      json.RawMessage
	Method  string
	Params  json.RawMessage
	Result  json.RawMessage
	Error   *struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
}

// String is the message in short, for comparing: "1 ok {}", "null -32700", "n method params".
func (m message) String() string {
	switch {
	case m.Method != "" && m.ID != nil:
		return fmt.Sprintf("%s %s %s", m.ID, m.Method, m.Params)
	case m.Method != "":
		return fmt.Sprintf("n %s %s", m.Method, m.Params)
	case m.Error != nil:
		return fmt.Sprintf("%s %d", m.ID, m.Error.Code)
	}
	return fmt.Sprintf("%s ok %s", m.ID, m.Result)
}

func (p *peer) receive() message {
	p.t.Helper()
	m, err := p.next()
	if err != nil {
		p.t.Fatalf("reading from the server: %v", err)
	}
	return m
}

// next returns an error if the output ends, or is not exactly in its framing.
func (p *peer) next() (message, error) {
	p.outFile.SetReadDeadline(time.Now().Add(hang))
	return readMessage(p.out, p.dialect)
}

func readMessage(r *bufio.Reader, d Dialect) (m message, err error) {
	line, err := r.ReadString('\n')
	if err != nil {
		if line != "" {
			return m, fmt.Errorf("torn line %q: %w", line, err)
		}
		return m, err
	}
	body := []byte(strings.TrimSuffix(line, "\n"))
	if d == LSP {
		n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(line, "Content-Length: "), "\r\n"))
		if err != nil {
			return m, fmt.Errorf("header %q: %w", line, err)
		}
		if blank, err := r.ReadString('\n'); blank != "\r\n" {
			return m, fmt.Errorf("header ends in %q: %v", blank, err)
		}
		body = make([]byte, n)
		if _, err := io.ReadFull(r, body); err != nil {
			return m, err
		}
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil {
		return m, fmt.Errorf("%q: %w", body, err)
	}
	if m.JSONRPC != "2.0" || dec.More() {
		return m, fmt.Errorf("%q is not one message", body)
	}
	return m, nil
}

func (p *peer) expect(want ...string) {
	p.t.Helper()
	for _, w := range want {
		if got := p.receive().String(); got != w {
			p.t.Errorf("server sent %s, want %s", got, w)
		}
	}
}

// echo is a small server: echo answers with its params, slow waits for its cancel, die panics.
func echo(c *Conn) Handler {
	return func(ctx context.Context, req Request) func() (any, error) {
		switch req.Method {
		case "echo":
			return func() (any, error) { return req.Params, nil }
		case "slow":
			return func() (any, error) { <-ctx.Done(); return nil, ctx.Err() }
		case "prompt": // like slow, but a cancel is a result
			return func() (any, error) { <-ctx.Done(); return "cancelled", nil }
		case "die":
			return func() (any, error) { panic("run died") }
		case "die at once":
			panic("handler died")
		case "fail":
			return func() (any, error) { return nil, errors.New("it broke") }
		case "code":
			return func() (any, error) {
				return nil, fmt.Errorf("opening: %w", &Error{Code: -32002, Message: "not found", Data: map[string]string{"uri": "a<b"}})
			}
		}
		return nil
	}
}

func eachDialect(t *testing.T, f func(t *testing.T, d Dialect)) {
	for _, d := range []Dialect{ACP, LSP} {
		t.Run(d.String(), func(t *testing.T) { f(t, d) })
	}
}
