package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// maxWaiting is how many prompts wait behind a running turn (ACP session/prompt, concurrency).
const maxWaiting = 16

// A line has the prompts of a session wait for each other, first in, first out.
type line struct {
	mu      sync.Mutex
	tickets []*Ticket
	closed  bool
	empty   chan struct{} // closed when the last ticket of a closed line has left
}

// A Ticket is one prompt's place in its session's line. It must be given to Prompt.
type Ticket struct {
	ctx    context.Context // owns the prompt's lifetime: ends with its request, or by Cancel
	cancel context.CancelFunc
	first  chan struct{} // closed when it is this one's turn
}

// ErrClosed says that a session was closed while a prompt was on its way.
var ErrClosed = errors.New("the session was closed")

// join puts a prompt in the line. It does not wait.
func (l *line) join(ctx context.Context) (*Ticket, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, ErrClosed
	}
	if len(l.tickets) > maxWaiting {
		return nil, fmt.Errorf("queue full: %d prompts already wait for the running turn; wait for an answer or cancel it", maxWaiting)
	}
	t := &Ticket{first: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancel(ctx)
	l.tickets = append(l.tickets, t)
	if len(l.tickets) == 1 {
		close(t.first)
	}
	return t, nil
}

// wait blocks until it is t's turn; it reports false when t was cancelled before.
func (t *Ticket) wait() bool {
	select {
	case <-t.first:
		return t.ctx.Err() == nil
	case <-t.ctx.Done():
		return false
	}
}

// leave takes t out of the line and lets the next one go.
func (l *line) leave(t *Ticket) {
	t.cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, x := range l.tickets {
		if x != t {
			continue
		}
		l.tickets = append(l.tickets[:i:i], l.tickets[i+1:]...)
		if i == 0 && len(l.tickets) > 0 {
			close(l.tickets[0].first)
		}
		break
	}
	l.signalLocked()
}

// cancelAll cancels every prompt that is in the line now, and none that comes later.
func (l *line) cancelAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.tickets {
		t.cancel()
	}
}

// busy reports whether a prompt runs or waits.
func (l *line) busy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.tickets) > 0
}

// close lets nobody in any more, cancels all, and waits until they have left or ctx ends.
func (l *line) close(ctx context.Context) error {
	l.mu.Lock()
	if l.empty == nil {
		l.empty = make(chan struct{})
	}
	l.closed = true
	l.signalLocked()
	l.mu.Unlock()
	l.cancelAll()
	select {
	case <-l.empty:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the running turn to end: %w", ctx.Err())
	}
}

func (l *line) signalLocked() {
	if l.closed && len(l.tickets) == 0 {
		select {
		case <-l.empty:
		default:
			close(l.empty)
		}
	}
}
