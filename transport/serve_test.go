package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

func TestUpdatesComeBeforeTheirAnswer(t *testing.T) {
	eachDialect(t, func(t *testing.T, d Dialect) {
		const turns, updates = 20, 50
		p := connect(t, d, Options{}, func(c *Conn) Handler {
			return func(ctx context.Context, req Request) func() (any, error) {
				return func() (any, error) {
					for i := range updates {
						if err := c.Notify(ctx, "update", []any{req.Params, i}); err != nil {
							return nil, err
						}
					}
					return map[string]any{}, nil
				}
			}
		})
		for i := range turns {
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"turn","params":[%d]}`, i, i))
		}
		seen := map[string]int{}
		for answers := 0; answers < turns; {
			m := p.receive()
			if m.Method == "" {
				if n := seen["["+string(m.ID)+"]"]; n != updates {
					t.Errorf("answer %s after %d updates", m.ID, n)
				}
				answers++
				continue
			}
			var params [2]json.RawMessage
			json.Unmarshal(m.Params, &params)
			if want := fmt.Sprint(seen[string(params[0])]); string(params[1]) != want {
				t.Errorf("update %s of turn %s, want %s", params[1], params[0], want)
			}
			seen[string(params[0])]++
		}
	})
}

func TestHandlersAreCalledInOrderOfArrival(t *testing.T) {
	const n = 500
	var got []string // written on the read loop alone, read when it has ended
	p := connect(t, ACP, Options{}, func(*Conn) Handler {
		return func(_ context.Context, req Request) func() (any, error) {
			got = append(got, string(req.Params))
			return func() (any, error) { return nil, nil }
		}
	})
	go func() {
		for i := range n {
			id := fmt.Sprintf(`"id":%d,`, i)
			if i%3 == 0 {
				id = ""
			}
			fmt.Fprintf(p.in, `{"jsonrpc":"2.0",%s"method":"m","params":[%d]}`+"\n", id, i)
		}
		p.in.Close()
	}()
	for m, err := p.next(); err == nil; m, err = p.next() {
		if m.Error != nil {
			t.Errorf("answer %s", m)
		}
	}
	p.wait()
	if len(got) != n {
		t.Fatalf("handler was called %d times, want %d", len(got), n)
	}
	for i, params := range got {
		if params != fmt.Sprintf("[%d]", i) {
			t.Fatalf("call %d had params %s", i, params)
		}
	}
}

func TestCancelFindsItsRequest(t *testing.T) {
	eachDialect(t, func(t *testing.T, d Dialect) {
		for _, cancel := range []string{
			`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%s}}`,
			`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":%s}}`,
		} {
			for _, id := range []string{`0`, `7`, `-1`, `"7"`, `"é\n"`} {
				p := connect(t, d, Options{}, echo)
				p.send(`{"jsonrpc":"2.0","id":`+id+`,"method":"slow"}`, fmt.Sprintf(cancel, id))
				p.expect(id + " -32800")
				p.send(`{"jsonrpc":"2.0","id":`+id+`,"method":"prompt"}`, fmt.Sprintf(cancel, id))
				p.expect(id + ` ok "cancelled"`) // the same id again, and a result in spite of the cancel
			}
		}
	})
}

func TestCancelLeavesOtherRequestsAlone(t *testing.T) {
	p := connect(t, ACP, Options{}, echo)
	p.send(`{"jsonrpc":"2.0","id":1,"method":"slow"}`,
		`{"jsonrpc":"2.0","id":"1","method":"slow"}`,
		`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"1"}}`)
	p.expect(`"1" -32800`)
	p.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}`)
	p.expect(`1 -32800`)
}

// Cancels sent before, with and after the answer: each call is answered exactly once.
func TestCancelsRacingAnswersLeaveOneAnswerEach(t *testing.T) {
	const n = 1000
	p := connect(t, ACP, Options{}, func(*Conn) Handler {
		return func(ctx context.Context, _ Request) func() (any, error) {
			return func() (any, error) { return nil, ctx.Err() }
		}
	})
	go func() {
		for i := range n {
			fmt.Fprintf(p.in, `{"jsonrpc":"2.0","id":%d,"method":"m"}`+"\n", i)
			for j := max(0, i-2); j <= i; j++ {
				fmt.Fprintf(p.in, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%d}}`+"\n", j)
			}
		}
		p.in.Close()
	}()
	answers := map[string]int{}
	for m, err := p.next(); err == nil; m, err = p.next() {
		if m.Error != nil && m.Error.Code != CodeCancelled {
			t.Errorf("answer %s", m)
		}
		answers[string(m.ID)]++
	}
	for i := range n {
		if got := answers[fmt.Sprint(i)]; got != 1 {
			t.Errorf("call %d was answered %d times", i, got)
		}
	}
}

func TestAnIDInUseIsRefused(t *testing.T) {
	p := connect(t, ACP, Options{}, echo)
	p.send(`{"jsonrpc":"2.0","id":1,"method":"slow"}`, `{"jsonrpc":"2.0","id":1,"method":"echo"}`)
	p.expect("1 -32600")
	p.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}`)
	p.expect("1 -32800")
}

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

func TestAnswersGoOutAfterTheInputEnded(t *testing.T) {
	eachDialect(t, func(t *testing.T, d Dialect) {
		release := make(chan struct{})
		p := connect(t, d, Options{}, func(c *Conn) Handler {
			common := echo(c)
			return func(ctx context.Context, req Request) func() (any, error) {
				if req.Method != "wait" {
					return common(ctx, req)
				}
				return func() (any, error) { <-release; return "done", nil }
			}
		})
		p.send(`{"jsonrpc":"2.0","id":1,"method":"wait"}`, `{"jsonrpc":"2.0","id":2,"method":"slow"}`,
			`{"jsonrpc":"2.0","id":3,"method":"prompt"}`, `{"jsonrpc":"2.0","method":"wait"}`)
		p.in.Close()
		close(release)
		p.expect(`1 ok "done"`)
		got := map[string]bool{p.receive().String(): true, p.receive().String(): true}
		if !got["2 -32800"] || !got[`3 ok "cancelled"`] {
			t.Errorf("after the grace: %v", got)
		}
		if _, err := p.next(); err != io.EOF {
			t.Errorf("after the last answer: %v", err)
		}
		if err := p.wait(); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
}

// In a bubble the clock is exact: what is asserted is which limit ends what, not a speed.
func TestNothingOutlastsItsLimit(t *testing.T) {
	tests := []struct {
		name string
		work string // method in progress
		end  func(in *io.PipeWriter, cancel context.CancelFunc)
		took time.Duration
		err  string // in the error of Serve; empty for none
	}{
		{"input ends", "slow", func(in *io.PipeWriter, _ context.CancelFunc) { in.Close() }, answerGrace, ""},
		{"input ends, stuck", "stuck", func(in *io.PipeWriter, _ context.CancelFunc) { in.Close() }, answerGrace + stuckLimit, "handlers ignore that the connection ended: stuck"},
		{"input breaks", "slow", func(in *io.PipeWriter, _ context.CancelFunc) { in.CloseWithError(errors.New("torn")) }, answerGrace, "torn"},
		{"context ends", "slow", func(_ *io.PipeWriter, cancel context.CancelFunc) { cancel() }, 0, "context canceled"},
		{"context ends, stuck", "stuck", func(_ *io.PipeWriter, cancel context.CancelFunc) { cancel() }, stuckLimit, "stuck"},
		{"input ends, output blocked", "tell", func(in *io.PipeWriter, _ context.CancelFunc) { in.Close() }, answerGrace + blockedLimit, "does not read"},
		{"context ends, output blocked", "tell", func(_ *io.PipeWriter, cancel context.CancelFunc) { cancel() }, blockedLimit, "context canceled"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				serverIn, in := io.Pipe()
				out, serverOut := io.Pipe()
				ctx, cancel := context.WithCancel(t.Context())
				release := make(chan struct{})
				served := make(chan error)
				go func() {
					served <- Serve(ctx, serverIn, serverOut, Options{}, func(c *Conn) Handler {
						return func(ctx context.Context, req Request) func() (any, error) {
							return func() (any, error) {
								switch req.Method {
								case "stuck":
									<-release
								case "tell":
									return nil, c.Notify(ctx, "told", nil)
								default:
									<-ctx.Done()
								}
								return nil, nil
							}
						}
					})
				}()
				fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"`+tt.work+`"}`)
				if tt.work != "tell" { // else nobody reads
					go io.Copy(io.Discard, out)
				}
				synctest.Wait()
				began := time.Now()
				tt.end(in, cancel)
				err := <-served
				if took := time.Since(began); took < tt.took || took > tt.took+closeLimit {
					t.Errorf("took %v, want %v", took, tt.took)
				}
				if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
					t.Errorf("Serve: %v, want %q", err, tt.err)
				}
				cancel()
				close(release)
			})
		})
	}
}

func TestBrokenOutputCancelsEverything(t *testing.T) {
	p := connect(t, ACP, Options{}, echo)
	p.send(`{"jsonrpc":"2.0","id":1,"method":"slow"}`)
	p.outFile.Close()
	p.send(`{"jsonrpc":"2.0","id":2,"method":"echo"}`)
	if err := p.wait(); err == nil || !strings.Contains(err.Error(), "writing to the peer") {
		t.Errorf("Serve: %v", err)
	}
}

func TestAMessageOf64MiB(t *testing.T) {
	eachDialect(t, func(t *testing.T, d Dialect) {
		p := connect(t, d, Options{}, func(*Conn) Handler {
			return func(_ context.Context, req Request) func() (any, error) {
				return func() (any, error) { return len(req.Params), nil }
			}
		})
		text := strings.Repeat("0123456789abcdef", 64<<20/16)
		p.send(`{"jsonrpc":"2.0","id":1,"method":"m","params":["`+text+`"]}`, `{"jsonrpc":"2.0","id":3,"method":"m"}`)
		got := map[string]bool{p.receive().String(): true, p.receive().String(): true}
		if !got[fmt.Sprintf("1 ok %d", len(text)+4)] || !got["3 ok 0"] {
			t.Errorf("server sent %v", got)
		}
	})
}

func TestOutgoingTextIsMadeFitForTheWire(t *testing.T) {
	eachDialect(t, func(t *testing.T, d Dialect) {
		p, c := client(t, d)
		for params, want := range map[any]string{
			"a\xffb":            `n m "a\ufffdb"`,
			"<&>\u2028":         `n m "<&>\u2028"`,
			raw("{\"a\":\n 1}"): `n m {"a":1}`,
			raw("\"a\xff\""):    "n m \"a\uFFFD\"",
		} {
			if err := c.Notify(t.Context(), "m", params); err != nil {
				t.Fatal(err)
			}
			if got := p.receive().String(); got != want {
				t.Errorf("%q was sent as %s, want %s", params, got, want)
			}
		}
		for _, bad := range []any{json.RawMessage(`{"a":`), func() {}, make(chan int)} {
			if err := c.Notify(t.Context(), "m", bad); err == nil {
				t.Errorf("%v was sent", bad)
			}
		}
	})
}

// raw is a json.RawMessage that can be the key of a map.
type raw string

func (r raw) MarshalJSON() ([]byte, error) { return []byte(r), nil }

func TestErrorsSayWhatTheHandlerSaid(t *testing.T) {
	core, logs := observer.New(zap.DebugLevel)
	p := connect(t, ACP, Options{Log: zap.New(core), Trace: true}, echo)
	p.send(`{"jsonrpc":"2.0","id":1,"method":"code"}`)
	e := p.receive().Error
	if e.Message != "opening: not found" || string(e.Data) != `{"uri":"a<b"}` {
		t.Errorf("error %+v", e)
	}
	p.send(`{"jsonrpc":"2.0","id":2,"method":"die"}`)
	e = p.receive().Error
	if strings.Contains(e.Message, "goroutine") || strings.Contains(e.Message, "run died") {
		t.Errorf("the peer was told %q", e.Message)
	}
	panics := logs.FilterMessage("panic").All()
	if len(panics) != 1 || !strings.Contains(fmt.Sprint(panics[0].ContextMap()["stack"]), "peer_test.go") {
		t.Errorf("log of the panic: %v", panics)
	}
	if n := logs.FilterMessage("received").Len(); n != 2 {
		t.Errorf("trace has %d received messages", n)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	if err := Serve(t.Context(), strings.NewReader(""), io.Discard, Options{Dialect: 7}, echo); err == nil {
		t.Error("dialect 7 was accepted")
	}
}

func TestMemoryDoesNotGrowWithTheStream(t *testing.T) {
	p := connect(t, ACP, Options{}, echo)
	heap := func(requests int) uint64 {
		go func() {
			for i := range requests {
				fmt.Fprintf(p.in, `{"jsonrpc":"2.0","id":"call %d","method":"echo","params":[1,2,3]}`+"\n{bad\n"+`{"jsonrpc":"2.0","method":"$/x"}`+"\n", i)
			}
		}()
		for range 2 * requests {
			p.receive()
		}
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	first := heap(1000)
	if second := heap(10000); second > first+1<<20 {
		t.Errorf("heap grew from %d to %d bytes", first, second)
	}
}

func TestWhatFollowsAnAnswerComesAfterIt(t *testing.T) {
	eachDialect(t, func(t *testing.T, d Dialect) {
		p := connect(t, d, Options{}, func(c *Conn) Handler {
			return func(_ context.Context, req Request) func() (any, error) {
				return func() (any, error) {
					switch req.Method {
					case "plain":
						return Reply{Result: 1}, nil
					case "bad":
						return Reply{Result: func() {}, After: func() { t.Error("an answer that failed was followed") }}, nil
					case "die":
						return Reply{After: func() { panic("after died") }}, nil
					}
					return Reply{Result: req.Params, After: func() {
						if err := c.Notify(t.Context(), "after", req.Params); err != nil {
							t.Error(err)
						}
					}}, nil
				}
			}
		})
		p.send(`{"jsonrpc":"2.0","id":1,"method":"plain"}`)
		p.expect("1 ok 1")
		p.send(`{"jsonrpc":"2.0","id":2,"method":"bad"}`)
		p.expect("2 -32603")
		p.send(`{"jsonrpc":"2.0","id":3,"method":"die"}`)
		p.expect("3 ok null")
		const n = 200
		go func() {
			for i := range n {
				p.in.WriteString(frameText(d, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"m","params":[%d]}`, i, i)))
			}
			p.in.Close()
		}()
		answered := map[string]bool{}
		for range 2 * n {
			m := p.receive()
			if m.Method == "" {
				answered[string(m.Result)] = true
			} else if !answered[string(m.Params)] {
				t.Errorf("%s came before its answer", m)
			}
		}
	})
}
