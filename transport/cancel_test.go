package transport

import (
	"context"
	"fmt"
	"testing"
)

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
