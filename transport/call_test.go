package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
)

// While handlers of one side call the other, both at once and many at a time.
func TestCallsCrossInBothDirections(t *testing.T) {
	eachDialect(t, func(t *testing.T, d Dialect) {
		const n = 200
		back := func(c *Conn) Handler {
			return func(ctx context.Context, req Request) func() (any, error) {
				return func() (any, error) {
					if req.Method == "twice" {
						var v json.RawMessage
						err := c.Call(ctx, "echo", req.Params, &v)
						return []json.RawMessage{v, req.Params}, err
					}
					return req.Params, nil
				}
			}
		}
		a, b := pipePair(t)
		conns := make(chan *Conn, 2)
		for _, end := range []end{a, b} {
			go func() {
				Serve(t.Context(), end.in, end.out, Options{Dialect: d}, func(c *Conn) Handler {
					conns <- c
					return back(c)
				})
			}()
		}
		var calls sync.WaitGroup
		for range 2 {
			c := <-conns
			for i := range n {
				calls.Go(func() {
					var got [][]int
					err := c.Call(t.Context(), "twice", []int{i}, &got)
					if err != nil || fmt.Sprint(got) != fmt.Sprintf("[[%d] [%d]]", i, i) {
						t.Errorf("call %d: %v, %v", i, got, err)
					}
				})
			}
		}
		calls.Wait()
	})
}

type end struct {
	in  io.ReadCloser
	out io.WriteCloser
}

// pipePair returns the two ends of a connection over real pipes; closing is left to who serves them.
func pipePair(t testing.TB) (a, b end) {
	t.Helper()
	r1, w1, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r2, w2, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, f := range []*os.File{r1, w1, r2, w2} {
			f.Close()
		}
	})
	return end{r1, w2}, end{r2, w1}
}

func TestWhatACallReturns(t *testing.T) {
	tests := []struct {
		name, answer string
		want         string // of the result
		code         int    // of the error, 0 for none
	}{
		{"result", `{"jsonrpc":"2.0","id":1,"result":"x"}`, "x", 0},
		{"null", `{"jsonrpc":"2.0","id":1,"result":null}`, "", 0},
		{"error", `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method","data":[1]}}`, "", -32601},
		{"result and null error", `{"jsonrpc":"2.0","id":1,"result":"x","error":null}`, "x", 0},
		{"error and null result", `{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":5,"message":"m"}}`, "", 5},
		{"without jsonrpc", `{"id":1,"result":"x"}`, "x", 0},
		{"error is a string", `{"jsonrpc":"2.0","id":1,"error":"oops"}`, "", CodeInternal},
		{"error code is a string", `{"jsonrpc":"2.0","id":1,"error":{"code":"E","message":"m"}}`, "", CodeInternal},
		{"error code beyond int32", `{"jsonrpc":"2.0","id":1,"error":{"code":99999999999,"message":"m"}}`, "", CodeInternal},
		{"twice", `{"jsonrpc":"2.0","id":1,"result":"x"}` + "\n" + `{"jsonrpc":"2.0","id":1,"result":"y"}`, "x", 0},
		{"unknown id first", `{"jsonrpc":"2.0","id":9,"result":"y"}` + "\n" + `{"jsonrpc":"2.0","id":1,"result":"x"}`, "x", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, c := client(t, ACP)
			done := make(chan error, 1)
			var got string
			go func() { done <- c.Call(t.Context(), "ask", nil, &got) }()
			p.expect("1 ask ")
			p.raw(tt.answer + "\n")
			err := <-done
			var e *Error
			switch {
			case tt.code == 0 && err != nil:
				t.Errorf("Call: %v", err)
			case tt.code != 0 && (!errors.As(err, &e) || e.Code != tt.code):
				t.Errorf("Call: %v, want code %d", err, tt.code)
			}
			if got != tt.want {
				t.Errorf("result %q, want %q", got, tt.want)
			}
			p.send(`{"jsonrpc":"2.0","id":5,"method":"echo"}`)
			p.expect("5 ok null")
		})
	}
}

// client returns the connection that a peer is served by, before the peer has said anything.
func client(t *testing.T, d Dialect) (*peer, *Conn) {
	conns := make(chan *Conn, 1)
	p := connect(t, d, Options{Dialect: d}, func(c *Conn) Handler {
		conns <- c
		return echo(c)
	})
	return p, <-conns
}

func TestACallThatIsGivenUpIsTakenBack(t *testing.T) {
	for d, want := range map[Dialect]string{ACP: `n $/cancel_request {"requestId":1}`, LSP: `n $/cancelRequest {"id":1}`} {
		p, c := client(t, d)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Call(ctx, "ask", []int{}, nil) }()
		p.expect("1 ask []")
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Call: %v", err)
		}
		p.expect(want)
		p.send(`{"jsonrpc":"2.0","id":1,"result":"late"}`, `{"jsonrpc":"2.0","id":5,"method":"echo"}`)
		p.expect("5 ok null")
		if err := c.Call(ctx, "ask", nil, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("Call with a cancelled context: %v", err)
		}
	}
}

func TestACallEndsWithTheInput(t *testing.T) {
	p, c := client(t, ACP)
	done := make(chan error, 1)
	go func() { done <- c.Call(t.Context(), "ask", nil, nil) }()
	p.expect("1 ask ")
	p.in.Close()
	if err := <-done; !errors.Is(err, ErrClosed) {
		t.Errorf("Call: %v", err)
	}
	p.wait()
	if err := c.Call(t.Context(), "ask", nil, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Call after the end: %v", err)
	}
	if err := c.Notify(t.Context(), "tell", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Notify after the end: %v", err)
	}
}
