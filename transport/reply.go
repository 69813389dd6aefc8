package transport

import "context"

// A Reply is what a handler's run returns when something may be sent only after its answer: After is
// called once the answer has been written, on the handler's goroutine, so Serve waits for it too. An
// answer that could not be encoded or written has no After. The request's context has ended by then.
type Reply struct {
	Result any
	After  func() // nil for nothing
}

// later keeps what is to happen when the answer is out. The library passes its context of a request to
// the handler and again to Write, with the answer; nothing else there tells which request it is.
func (c *Conn) later(async context.Context, after func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.after[async] = after
}

// answered is called when the answer to a request has been written, or could not be.
func (c *Conn) answered(async context.Context, written bool) {
	c.mu.Lock()
	after := c.after[async]
	delete(c.after, async)
	c.mu.Unlock()
	if after == nil || !written {
		return
	}
	c.runs.add()
	defer c.runs.done()
	_, _ = c.guard("what follows an answer", func() (any, error) { after(); return nil, nil }) // a panic is logged
}
