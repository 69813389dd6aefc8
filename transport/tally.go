package transport

import "sync"

// A tally counts what is under way. Unlike a sync.WaitGroup, it may be waited for while things are
// still being added, and the wait can be given up.
type tally struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed while n is 0; nil until first needed
}

func (t *tally) add() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == 0 {
		t.none = make(chan struct{})
	}
	t.n++
}

func (t *tally) done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n--; t.n == 0 {
		close(t.none)
	}
}

// zero is closed when nothing is under way any more.
func (t *tally) zero() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.none == nil {
		t.none = make(chan struct{})
		close(t.none)
	}
	return t.none
}
