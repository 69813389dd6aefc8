package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"go.lsp.dev/jsonrpc2"
	"go.uber.org/zap"
)

// A Conn is one connection while it is served. Its methods may be called from any goroutine, by a
// Handler too except Call, which would wait on the read loop for what only the read loop can bring.
//
// How it ends:
//   - Input ended: the stream keeps that from the library (drain), outgoing calls fail, calls in flight
//     get answerGrace, then ctx is cancelled.
//   - Output broke, or the caller's ctx ended: ctx is cancelled.
//   - Serve (finish) waits until handlers have returned and answers are out, then stops the writer and
//     closes both streams, which ends a pending read, and with it the library's goroutine.
type Conn struct {
	rpc     jsonrpc2.Conn
	in      *input
	out     *writer
	dialect Dialect // written by the read loop before the first handler runs
	log     *zap.Logger
	trace   bool

	newHandler func(*Conn) Handler
	handle     Handler // nil until the dialect is known; used by the read loop alone

	ctx    context.Context // the connection's lifetime; every request's context is under it
	cancel context.CancelCauseFunc
	heard  context.Context // ends when no answer can come in any more
	hangUp context.CancelFunc

	runs tally // handlers at work
	owed tally // calls whose answer has not been written

	mu     sync.Mutex
	active map[jsonrpc2.ID]call       // guarded by mu
	after  map[context.Context]func() // guarded by mu; what waits for an answer to be written
}

// A call is one from the peer that has not been answered.
type call struct {
	method string
	cancel context.CancelFunc
}

func newConn(ctx context.Context, in io.Reader, out io.Writer, o Options, newHandler func(*Conn) Handler) *Conn {
	c := &Conn{dialect: o.Dialect, log: o.Log, trace: o.Trace, newHandler: newHandler, active: map[jsonrpc2.ID]call{}, after: map[context.Context]func(){}}
	if c.log == nil {
		c.log = zap.NewNop()
	}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.heard, c.hangUp = context.WithCancel(c.ctx)
	c.in = &input{src: in, max: maxMessage}
	c.out = newWriter(out, c.ctx.Done(), c.cancel)
	c.rpc = jsonrpc2.NewConn(&stream{c: c, in: c.in})
	if o.Dialect != 0 {
		c.handle = newHandler(c)
	}
	return c
}

// Dialect is the one the peer speaks.
func (c *Conn) Dialect() Dialect { return c.dialect }

// Notify sends a notification and returns when it has been written, so what a handler sends before it
// returns is on the wire before its answer. params is encoded with encoding/json; nil sends none.
//
// ctx does not hold a message back: it limits, to half a second from its end, the wait for a peer that
// does not read. After the connection's end the error is ErrClosed.
func (c *Conn) Notify(ctx context.Context, method string, params any) error {
	raw, err := encodeParams(params)
	if err != nil {
		return fmt.Errorf("encoding the params of %s: %w", method, err)
	}
	if err := c.rpc.Notify(outgoing{ctx}, method, raw); err != nil {
		return fmt.Errorf("sending %s: %w", method, closed(err))
	}
	return nil
}

// Call sends a request, waits for its answer and decodes that into result, unless result is nil or the
// answer null. An error that the peer answered with is an *Error in the chain of the one returned.
// When ctx ends, Call tells the peer so, which a peer that does not read holds up by half a second at most,
// and returns ctx.Err(); when the connection ends, or its input, it returns ErrClosed.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	raw, err := encodeParams(params)
	if err != nil {
		return fmt.Errorf("encoding the params of %s: %w", method, err)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("calling %s: %w", method, ctx.Err())
	}
	wait, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(c.heard, stop)()

	var answer json.RawMessage
	id, err := c.rpc.Call(outgoing{wait}, method, raw, &answer)
	if err != nil {
		return fmt.Errorf("calling %s: %w", method, c.callError(ctx, id, err))
	}
	if result == nil || len(answer) == 0 || string(answer) == "null" {
		return nil
	}
	if err := json.Unmarshal(answer, result); err != nil {
		return fmt.Errorf("decoding the answer to %s: %w", method, err)
	}
	return nil
}

// callError tells apart why a call got no result, and takes back one that nobody waits for any more.
func (c *Conn) callError(ctx context.Context, id jsonrpc2.ID, err error) error {
	if peer := peerError(err); peer != nil {
		return peer
	}
	if ctx.Err() == nil || c.heard.Err() != nil {
		return closed(err)
	}
	// Told before the caller goes on, so that it precedes whatever the caller answers for itself. ctx has
	// ended, which bounds the wait for a peer that does not read.
	method, params := cancelNotice(c.dialect, id)
	_ = c.Notify(ctx, method, params) // only the connection's end stops it, which cancels the call anyway
	return ctx.Err()
}

// closed puts ErrClosed in the chain of what the library says when a connection has ended.
func closed(err error) error {
	if errors.Is(err, ErrClosed) || errors.Is(err, errBlocked) {
		return err
	}
	return ErrClosed
}

// encodeParams returns an untyped nil for nil, which the library leaves out.
func encodeParams(params any) (any, error) {
	if params == nil {
		return nil, nil
	}
	raw, err := encode(params)
	return raw, err
}

func (c *Conn) traceMessage(what string, b []byte) {
	if c.trace {
		c.log.Debug(what, zap.ByteString("message", b[:min(len(b), chunk)]), zap.Int("bytes", len(b)))
	}
}
