package transport

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
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
