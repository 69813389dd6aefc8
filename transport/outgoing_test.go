package transport

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

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
