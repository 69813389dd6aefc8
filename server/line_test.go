package server

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func join(t *testing.T, l *line) *Ticket {
	t.Helper()
	ticket, err := l.join(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}

func isFirst(t *Ticket) bool {
	select {
	case <-t.first:
		return true
	default:
		return false
	}
}

func TestTheLineIsServedInOrder(t *testing.T) {
	var l line
	a, b, c := join(t, &l), join(t, &l), join(t, &l)
	if !isFirst(a) || isFirst(b) || isFirst(c) {
		t.Fatal("the first to come is not the only one served")
	}
	l.leave(b) // gives up while it waits
	if isFirst(c) {
		t.Error("one who gave up let another go before the first had left")
	}
	l.leave(a)
	if !isFirst(c) {
		t.Error("nobody was let go when the first left")
	}
	l.leave(c)
	if l.busy() {
		t.Error("an empty line is busy")
	}
}

func TestCancelReachesThoseInLineAndNobodyLater(t *testing.T) {
	var l line
	a, b := join(t, &l), join(t, &l)
	l.cancelAll()
	later := join(t, &l)
	if a.wait() || b.wait() {
		t.Error("a cancelled prompt may go on")
	}
	l.leave(a)
	l.leave(b)
	if !later.wait() {
		t.Error("a prompt that came after the cancel was cancelled")
	}
	l.leave(later)
}

func TestAFullLineTurnsAway(t *testing.T) {
	var l line
	tickets := []*Ticket{join(t, &l)}
	for range maxWaiting {
		tickets = append(tickets, join(t, &l))
	}
	if _, err := l.join(t.Context()); err == nil || !strings.Contains(err.Error(), "queue full") {
		t.Errorf("one too many: %v", err)
	}
	for _, ticket := range tickets {
		l.leave(ticket)
	}
}

func TestAClosedLineWaitsForThoseInItAndLetsNobodyIn(t *testing.T) {
	var l line
	a := join(t, &l)
	closed := make(chan error, 1)
	go func() { closed <- l.close(t.Context()) }()
	<-a.ctx.Done() // closing cancels
	if _, err := l.join(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed line lets in: %v", err)
	}
	l.leave(a)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if err := l.close(t.Context()); err != nil {
		t.Errorf("closing twice: %v", err)
	}
}

func TestClosingALineIsBounded(t *testing.T) {
	var l line
	a := join(t, &l)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("closing a line whose prompt hangs: %v", err)
	}
	l.leave(a)
}
