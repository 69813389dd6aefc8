package transport

import "go.lsp.dev/jsonrpc2"

// A Reply is what a handler's run returns when something is to be sent only after its answer: After
// runs once the answer has been written, in a goroutine that Serve waits for. An answer that could
// not be written has no After.
type Reply struct {
	Result any
	After  func()
}

// later keeps what is to happen when the call's answer is out, and returns the answer.
func (c *Conn) later(id jsonrpc2.ID, value any) any {
	r, ok := value.(Reply)
	if !ok {
		return value
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.after[id] = r.After
	return r.Result
}

// answered runs what waited for an answer. The library holds its own locks while it writes, so it
// runs beside.
func (c *Conn) answered(msg jsonrpc2.Message, written bool) {
	r, ok := msg.(*jsonrpc2.Response)
	if !ok {
		return
	}
	c.mu.Lock()
	f := c.after[r.ID()]
	delete(c.after, r.ID())
	c.mu.Unlock()
	if f == nil || !written {
		return
	}
	c.runs.add()
	go func() {
		defer c.runs.done()
		_, _ = c.guard("what follows an answer", func() (any, error) { f(); return nil, nil })
	}()
}
