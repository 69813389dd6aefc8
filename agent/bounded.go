package agent

import (
	"context"
	"time"
)

// bounded returns ctx itself while it lives, and once it has ended a context that allows what must
// still happen for d more. The timer ends by itself, so nobody has to cancel it.
func bounded(ctx context.Context, d time.Duration) context.Context {
	if ctx.Err() == nil {
		return ctx
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), d)
	context.AfterFunc(late, cancel)
	return late
}
