package headless

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// interruptible returns a context that ends with the first signal to end: Ctrl-C, SIGTERM or, unless
// it was ignored at the start as nohup does, SIGHUP. The second has its usual effect.
//
// While it lasts, a write to a pipe that nobody reads is an error and not the process's end: the
// session and the programs that tools run must be ended first.
func interruptible(parent context.Context) (ctx context.Context, stop func()) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	pipe := make(chan os.Signal, 1) // never read: to be notified is enough
	signal.Notify(pipe, syscall.SIGPIPE)
	ctx, give := signal.NotifyContext(parent, signals...)
	context.AfterFunc(ctx, give)
	return ctx, func() {
		give()
		signal.Stop(pipe)
	}
}

// brokenPipe says that nobody reads what is written.
func brokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) || errors.Is(err, noReader) }
