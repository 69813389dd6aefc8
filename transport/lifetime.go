package transport

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

var errParentGone = errors.New("the process that started this one is gone")

// Lifetime returns a context that ends when the process should: on SIGTERM, SIGHUP or SIGINT (Ctrl-C,
// and on Windows the console's closing), or when the parent process is gone, whatever it left open.
// context.Cause tells which. SIGHUP that was ignored at the start, as nohup does, stays ignored.
//
// Signals after the first change nothing until stop is called: Ctrl-C and the parent's SIGTERM often
// come together, and the children must still be ended. The caller bounds how long its end may take.
//
// While it lasts, a write to a closed standard output or error is an error and not the process's end:
// there are children to stop first. (SIGPIPE is caught for that, not ignored, which children inherit.)
//
// stop gives the signals back, ends the context and waits for the goroutines; call it once or more.
func Lifetime(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, endingSignals()...)
	pipe := make(chan os.Signal, 1) // never read: to be notified is enough
	signal.Notify(pipe, syscall.SIGPIPE)

	var watchers sync.WaitGroup
	watchers.Go(func() {
		select {
		case s := <-signals:
			cancel(fmt.Errorf("received %s", s))
		case <-ctx.Done():
		}
	})
	watchers.Go(func() {
		if awaitParent(ctx.Done()) {
			cancel(errParentGone)
		}
	})
	return ctx, func() {
		cancel(nil)
		watchers.Wait()
		signal.Stop(signals)
		signal.Stop(pipe)
	}
}

func endingSignals() []os.Signal {
	s := []os.Signal{syscall.SIGTERM, syscall.SIGINT}
	if !signal.Ignored(syscall.SIGHUP) {
		s = append(s, syscall.SIGHUP)
	}
	return s
}
