package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// drain is called at the end of input, on the read loop. It returns the error to end the library's
// reading with, when every answer that can go out has gone out.
func (c *Conn) drain(cause error) error {
	c.hangUp()
	settled := c.settled()
	select {
	case <-settled:
	case <-c.ctx.Done():
	case <-time.After(answerGrace):
		c.cancel(cause)
	}
	select {
	case <-settled:
	case <-c.out.dead:
	}
	return cause
}

// settled is closed when no handler is at work and no answer is outstanding that could still be
// written. It ends with the connection at the latest, or with the last handler.
func (c *Conn) settled() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		<-c.runs.zero()
		select {
		case <-c.owed.zero():
		case <-c.out.dead:
		}
	}()
	return done
}

// finish ends what is left of the connection and says what ended it, nil for the end of input.
func (c *Conn) finish() error {
	inputErr := c.rpc.Err()
	c.cancel(io.EOF) // unless it already has a cause
	cause := context.Cause(c.ctx)
	var stuck error
	select {
	case <-c.settled():
	case <-time.After(stuckLimit):
		stuck = fmt.Errorf("handlers ignore that the connection ended: %s", c.activeMethods())
	}
	c.out.die(nil)
	if errors.Is(cause, io.EOF) && c.out.why != nil {
		cause = c.out.why
	}
	c.hangUp()
	c.closeStreams()
	switch {
	case !errors.Is(cause, io.EOF):
		return errors.Join(fmt.Errorf("serving the connection: %w", cause), stuck)
	case inputErr != nil:
		return errors.Join(fmt.Errorf("reading from the peer: %w", inputErr), stuck)
	}
	return stuck
}

// closeStreams closes both and waits, for closeLimit at most, until nobody is reading or writing.
func (c *Conn) closeStreams() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, s := range []any{c.in.src, c.out.out} {
			if s, ok := s.(io.Closer); ok {
				_ = s.Close() // the connection is over either way
			}
		}
		<-c.out.idle
		<-c.rpc.Done()
	}()
	select {
	case <-done:
	case <-time.After(closeLimit):
		c.log.Debug("leaving a read or write that closing does not interrupt")
	}
}

func (c *Conn) activeMethods() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for _, a := range c.active {
		names = append(names, a.method)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
