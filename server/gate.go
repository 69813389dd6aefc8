package server

import (
	"context"
	"sync"
)

// gates let one request at a time open, close or delete a session, so that a client that closes and
// opens one without waiting for the answer finds it closed, and not half open.
type gates struct {
	mu sync.Mutex
	by map[string]*gate // by session id; those that somebody is in or waits for
}

type gate struct {
	free  chan struct{} // holds a token while nobody is in
	users int           // in it or waiting
}

// enter waits until the gate of id is free, or ctx ends. leave must be called when there is no
// error.
func (g *gates) enter(ctx context.Context, id string) (leave func(), err error) {
	g.mu.Lock()
	one, ok := g.by[id]
	if !ok {
		one = &gate{free: make(chan struct{}, 1)}
		one.free <- struct{}{}
		if g.by == nil {
			g.by = map[string]*gate{}
		}
		g.by[id] = one
	}
	one.users++
	g.mu.Unlock()
	select {
	case <-one.free:
		return func() { one.free <- struct{}{}; g.drop(id, one) }, nil
	case <-ctx.Done():
		g.drop(id, one)
		return nil, ctx.Err()
	}
}

func (g *gates) drop(id string, one *gate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(g.by, id)
	}
}
