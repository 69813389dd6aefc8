package agent

import (
	"sync"

	"nimlet/session"
)

// A QueueMode says how many queued messages enter a turn at once.
type QueueMode string

// The queue modes. The zero QueueMode is OneAtATime.
const (
	OneAtATime QueueMode = "one-at-a-time"
	All        QueueMode = "all"
)

// A queue holds messages until a turn can take them.
type queue struct {
	mode QueueMode

	mu      sync.Mutex
	waiting [][]session.Part
}

func (q *queue) add(content []session.Part) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, content)
}

// take removes and returns what may enter now: all of it, or the first.
func (q *queue) take() [][]session.Part {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.waiting)
	if n > 1 && q.mode != All {
		n = 1
	}
	taken := q.waiting[:n:n]
	q.waiting = q.waiting[n:]
	return taken
}

func (q *queue) clear() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = nil
}
