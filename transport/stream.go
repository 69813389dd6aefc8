package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"go.lsp.dev/jsonrpc2"
	"go.uber.org/zap"
)

// A stream is what the library reads messages from and writes them to. It answers for the library
// where that would give up the connection: on input that is no message, and on the end of input,
// which it keeps back until every call has been answered, since after it the library writes nothing.
type stream struct {
	c       *Conn
	in      *input
	framing framing // nil until the first message
}

// outgoing marks the context of what we send on our own account, so that Write can tell the answers.
type outgoing struct{ context.Context }

// Read returns the next message; what it borrows is valid until it is called again.
func (s *stream) Read(context.Context) (jsonrpc2.Message, int64, error) {
	for {
		msg, err := s.read()
		var bad *refusal
		switch {
		case s.c.ctx.Err() != nil:
			return nil, 0, s.c.drain(context.Cause(s.c.ctx))
		case errors.As(err, &bad):
			s.refuse(bad)
		case err != nil:
			return nil, 0, s.c.drain(err)
		case msg != nil:
			return msg, 0, nil
		}
	}
}

// read returns nil for a blank line.
func (s *stream) read() (jsonrpc2.Message, error) {
	if s.framing == nil {
		d, f, err := opening(s.in, s.c.dialect, s.c.log)
		if err != nil {
			return nil, err
		}
		if s.framing = f; s.c.dialect == 0 { // one that was fixed is being read already
			s.c.dialect = d
		}
	}
	b, err := s.framing.next()
	if err != nil {
		return nil, err
	}
	if s.c.dialect == ACP && len(bytes.TrimSpace(b)) == 0 {
		return nil, nil
	}
	s.c.traceMessage("received", b)
	return decode(b)
}

// refuse answers on the read loop: a peer that sends rubble and reads nothing is held back, instead
// of filling our memory with answers.
func (s *stream) refuse(r *refusal) {
	s.c.log.Warn("refusing a message", zap.String("reason", r.err.Message), zap.String("id", fmt.Sprint(r.id)))
	_ = s.send(s.c.ctx, jsonrpc2.NewResponse(r.id, nil, r.err)) // a broken output ends the connection by itself
}

// Write sends one message.
func (s *stream) Write(ctx context.Context, msg jsonrpc2.Message) (int64, error) {
	_, ours := ctx.(outgoing)
	err := s.send(ctx, msg)
	if !ours {
		s.c.answered(ctx, err == nil)
		s.c.owed.done()
	}
	return 0, err
}

func (s *stream) send(ctx context.Context, msg jsonrpc2.Message) error {
	f := s.c.out.frame()
	s.c.traceMessage("sent", f.compose(s.c.dialect, msg))
	return s.c.out.write(ctx, f)
}

// Close does nothing: the library closes when it has nothing left to do, Serve when nobody has.
func (s *stream) Close() error { return nil }
