package transport

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"time"
)

// converse sends garbage, then a valid request as tail frames it, and returns all answers. It fails on
// output that breaks the framing or is no JSON-RPC, and on a hang.
func converse(t *testing.T, d Dialect, garbage []byte, tail string) (answers []message) {
	serverIn, in := io.Pipe()
	out, serverOut := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- Serve(t.Context(), serverIn, serverOut, Options{Dialect: d}, echoWithoutWaiting) }()
	go func() {
		in.Write(garbage)
		io.WriteString(in, tail)
		in.Close()
	}()
	watchdog := time.AfterFunc(hang, func() { panic(fmt.Sprintf("hang on %q", garbage)) })
	defer watchdog.Stop()
	r := bufio.NewReader(out)
	for {
		m, err := readMessage(r, d)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("after %q the server sent: %v", garbage, err)
		}
		answers = append(answers, m)
	}
	if err := <-served; err != nil {
		t.Fatalf("after %q Serve returned %v", garbage, err)
	}
	return answers
}

// echoWithoutWaiting leaves out the methods that wait for a cancel, which garbage need not bring.
func echoWithoutWaiting(c *Conn) Handler {
	h := echo(c)
	return func(ctx context.Context, req Request) func() (any, error) {
		if req.Method == "slow" || req.Method == "prompt" {
			return nil
		}
		return h(ctx, req)
	}
}

const last = `{"jsonrpc":"2.0","id":"the last","method":"echo","params":["last"]}`

func answered(answers []message) bool {
	for _, m := range answers {
		if m.String() == `"the last" ok ["last"]` {
			return true
		}
	}
	return false
}

// After any bytes and a newline, a valid line is answered.
func FuzzLines(f *testing.F) {
	for _, s := range []string{
		"", "\n", "{", "[1]", "{}\r\n[]\n", `{"jsonrpc":"2.0","id":1,"method":"echo"}`, `{"jsonrpc":"2.0","id":1.5,"method":"die"}`,
		`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}`, "\xff\xfe{\x00", `{"id":1,"result":2,"error":3}`,
		"Content-Length: 5\r\n\r\n{}", "\xef\xbb\xbf{}", `{"jsonrpc":"2.0","id":"\ud800","method":"echo","params":"\ud800"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, garbage []byte) {
		answers := converse(t, ACP, garbage, "\n"+last+"\n")
		if !answered(answers) {
			t.Fatalf("after %q the last request was not answered: %v", garbage, answers)
		}
		if n := bytes.Count(garbage, []byte("\n")) + 2; len(answers) > n {
			t.Fatalf("%d answers to %d lines %q", len(answers), n, garbage)
		}
	})
}

// After any bytes that do not happen to announce a body which takes in what follows, a valid message is
// answered; nothing else, whatever the bytes are, keeps the connection from ending in order.
func FuzzHeaders(f *testing.F) {
	for _, s := range []string{
		"", "\r\n", "Content-Length: 2\r\n\r\n{}", "Content-Length: 5\r\n\r\n{}", "Content-Length: 1\r\n\r\n{}", "content-length:0\n\n",
		"Content-Length: -1\r\n\r\n", "Content-Length: 99999999999\r\n\r\n", "Content-Type: a\r\n\r\n", "X\r\n\r\n\r\n", "Content-Length: 40\r\n\r\n" + `{"jsonrpc":"2.0","id":1,"method":"echo"}`,
		"Content-Length: 41\r\n\r\n" + `{"jsonrpc":"2.0","id":1,"method":"echo"}`, "{}Content-Length: 3\r\nContent-Length: x\r\n\r\n", "Content-Length: 9\r\nContent-Le",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, garbage []byte) {
		answers := converse(t, LSP, garbage, "\r\n\r\n"+frameText(LSP, last))
		if !bytes.Contains(bytes.ToLower(garbage), []byte("content-length:")) && !answered(answers) {
			t.Fatalf("after %q the last request was not answered: %v", garbage, answers)
		}
	})
}

// A body and a Content-Length that is wrong by any amount: what follows is answered, and the body is
// too, or refused.
func FuzzContentLength(f *testing.F) {
	for _, off := range []int{0, -1, 1, -30, 2, 9, 16, 40, 1000, 1 << 40} {
		f.Add(`["params", "}"]`, off)
	}
	f.Fuzz(func(t *testing.T, params string, off int) {
		if !json.Valid([]byte(params)) {
			return // not what this is about
		}
		body := `{"jsonrpc":"2.0","id":1,"method":"nope","params":` + params + "}"
		wire := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body)+off, body)
		answers := converse(t, LSP, []byte(wire), frameText(LSP, last))
		if !answered(answers) || len(answers) < 2 {
			t.Fatalf("after %q: %v", wire, answers)
		}
	})
}
