package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// blockedLimit is how long an output that takes nothing may hold up whoever has stopped waiting for it.
const blockedLimit = 500 * time.Millisecond

var errBlocked = errors.New("the peer does not read what it is sent")

// A writer is the one goroutine that writes to the peer, a message a Write. Only it is ever inside a
// system call that may block for good, so everyone else can give up: when their context ends, when
// the connection is ending, at once when the output is broken.
type writer struct {
	out    io.Writer
	frames chan *frame
	ending <-chan struct{} // closed when the connection is to end
	broken func(error)     // called once, with the first error of a Write

	spare sync.Pool // of *frame

	once sync.Once
	err  error         // what writing fails with; set before dead is closed
	why  error         // what broke the output, nil if nothing did; likewise
	dead chan struct{} // closed when nothing will be written any more
	idle chan struct{} // closed when run has returned
}

func newWriter(out io.Writer, ending <-chan struct{}, broken func(error)) *writer {
	return &writer{
		out: out, ending: ending, broken: broken,
		frames: make(chan *frame), dead: make(chan struct{}), idle: make(chan struct{}),
	}
}

func (w *writer) run() {
	defer close(w.idle)
	for {
		select {
		case f := <-w.frames:
			n, err := w.out.Write(f.wire)
			if err == nil && n < len(f.wire) {
				err = io.ErrShortWrite
			}
			if err != nil {
				w.die(fmt.Errorf("writing to the peer: %w", err))
				err = w.err
			}
			f.done <- err
		case <-w.dead:
			return
		}
	}
}

// die ends all writing. The first cause stands; nil means that the connection was closed in order.
func (w *writer) die(cause error) {
	w.once.Do(func() {
		w.err, w.why = ErrClosed, cause
		if cause != nil {
			w.err = fmt.Errorf("%w: %w", ErrClosed, cause)
			w.broken(cause)
		}
		close(w.dead)
	})
}

// frame returns one to compose a message in.
func (w *writer) frame() *frame {
	if f, ok := w.spare.Get().(*frame); ok {
		return f
	}
	return &frame{done: make(chan error, 1)}
}

// write returns when f has been written, and takes it back. A context that ends, or a connection, does
// not hold back a message that the output would take; it limits the wait for one that blocks.
func (w *writer) write(ctx context.Context, f *frame) error {
	frames, cancelled, ending := w.frames, ctx.Done(), w.ending
	var late <-chan time.Time
	for {
		select {
		case <-w.dead:
			return w.err
		case frames <- f:
			frames = nil
		case err := <-f.done:
			if cap(f.buf) <= chunk {
				w.spare.Put(f)
			}
			return err
		case <-cancelled:
			cancelled, late = nil, time.After(blockedLimit)
		case <-ending:
			ending, late = nil, time.After(blockedLimit)
		case <-late:
			if ending == nil {
				w.die(errBlocked)
			}
			return fmt.Errorf("writing to the peer: %w", errBlocked)
		}
	}
}
