// Package transport carries JSON-RPC 2.0 between this process and one peer, an editor as a rule. It
// frames messages in either of two dialects, tells by the first line which one the peer speaks, and
// owns the life of the connection. It knows no method but the two that cancel a request.
//
// The wire, in ten lines:
//   - ACP: one JSON object a line, UTF-8, no newline inside. LSP: "Content-Length: n", an empty line, n bytes.
//   - What precedes the first message (a shell profile's chatter) is skipped and logged.
//   - Bad JSON is answered with -32700, a message that is no request (a batch, an id that is neither an
//     integer of 64 bits nor a string, a jsonrpc member other than "2.0") with -32600; reading goes on.
//   - In ACP, after the first message, a line that is not JSON is bad JSON; blank lines are nothing.
//   - In LSP, a Content-Length that is wrong costs the message that bears it and no other: raw newlines and
//     the letter C cannot stand together in JSON, so the next header is found inside what was swallowed.
//   - A message may have 128 MiB; a longer one is read past and answered with -32600.
//   - Bytes that are not UTF-8 become U+FFFD, in both directions.
//   - $/cancel_request and $/cancelRequest end the context of the request they name, whichever the dialect.
//     Other notifications that begin with $/ are ignored.
//
// Nothing of the JSON-RPC library beneath is visible from outside.
package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"go.uber.org/zap"
)

// A Dialect is a way to frame messages, and with it the family of methods that the peer speaks.
type Dialect int

// The two dialects.
const (
	ACP Dialect = iota + 1 // one JSON object a line
	LSP                    // Content-Length headers
)

// String names the dialect for logs.
func (d Dialect) String() string {
	switch d {
	case ACP:
		return "ACP"
	case LSP:
		return "LSP"
	}
	return fmt.Sprintf("dialect %d", int(d))
}

// A Request is a call or a notification that the peer sent. It owns its bytes.
type Request struct {
	Method string
	Params json.RawMessage // nil when absent or null
	IsCall bool            // whether the peer waits for an answer
}

// A Handler is called on the read loop, in order of arrival, and must not block: what takes time goes
// in the func it returns, which runs in a goroutine of its own. So whatever a handler registers is
// there before the next message is read, and a cancel always finds the request it follows.
//
// The value of run is the answer to a call, encoded with encoding/json; nil is sent as null, and a
// Reply is an answer with something to do when it is out. An *Error
// anywhere in the error's chain gives the code, any other error is sent as CodeInternal with its text,
// and one that stems from a cancelled ctx as CodeCancelled. A nil run ends a notification; for a call it
// means that there is no such method. A panic, here or in run, is answered with CodeInternal.
//
// ctx ends when the peer cancels the request, when it has been answered, or with the connection.
type Handler func(ctx context.Context, req Request) (run func() (any, error))

// Options say how a connection is served. The zero value detects the dialect and logs nothing.
type Options struct {
	Dialect Dialect     // zero: told by the first message
	Log     *zap.Logger // nil: nothing is logged
	Trace   bool        // log each message in both directions, at debug level
}

const (
	// answerGrace is how long calls in flight may go on once the input has ended: long enough for an
	// answer that is nearly there, short enough that a program which must then be killed, which takes
	// a second, is gone within two.
	answerGrace = 750 * time.Millisecond
	// stuckLimit is how long Serve waits, after everything was cancelled, for handlers that do not
	// heed it. An agent that outlives its editor is worse than a goroutine that is left behind.
	stuckLimit = 2 * time.Second
	// closeLimit is how long a closed stream may take to let go of a pending read or write. Only
	// streams whose Close cannot interrupt them (a terminal, a Windows pipe) ever use it up.
	closeLimit = 100 * time.Millisecond
)

// ErrClosed is in the chain of every error that comes of the connection having ended.
var ErrClosed = errors.New("the connection has ended")

// Serve runs one connection until its input ends, its output breaks or ctx ends, and returns when
// every handler's goroutine has ended. It is nil when the input ended, else what ended it.
//
// newHandler is called once, with the connection: at once if the options fix the dialect, else before
// the first request is handled, when the dialect is known; never if no request came.
//
// When the input ends, calls in flight have a second to be answered and are then cancelled; what they
// then answer still goes out. When ctx ends they are cancelled at once, likewise. A write that blocks
// has half a second from then on, after which the output counts as broken, so a peer that stopped
// reading holds nothing up: all writing is done by one goroutine, and no handler waits longer than that.
//
// Serve owns in and out: it closes those that are io.Closers, which also ends a read or write that is
// pending. Where closing cannot do that, the goroutine in that system call is left to the process's
// end; nothing is dispatched from it any more. A handler that ignores its context for two seconds is
// left behind too, and named in the error.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options, newHandler func(c *Conn) Handler) error {
	if o.Dialect < 0 || o.Dialect > LSP {
		return fmt.Errorf("serving a connection: no such %s", o.Dialect)
	}
	c := newConn(ctx, in, out, o, newHandler)
	go c.out.run()
	c.rpc.Go(c.ctx, c.dispatch)
	select {
	case <-c.rpc.Done():
	case <-c.ctx.Done():
	}
	return c.finish()
}
