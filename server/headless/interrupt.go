package headless

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// interruptible returns a context that ends with the first signal to end: Ctrl-C, SIGTERM or, unless
// it was ignored at the start as nohup does, SIGHUP. Those that follow change nothing, since the
// programs that tools run must be ended first; a process that hangs is ended a second after giveUp.
//
// While it lasts, a write to a pipe that nobody reads is an error and not the process's end, for the
// same reason.
func interruptible(parent context.Context) (ctx context.Context, stop func()) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	pipe := make(chan os.Signal, 1) // never read: to be notified is enough
	signal.Notify(pipe, syscall.SIGPIPE)
	ctx, give := signal.NotifyContext(parent, signals...)
	ended := make(chan struct{})
	context.AfterFunc(ctx, func() {
		select {
		case <-ended:
		case <-time.After(giveUp + time.Second):
			os.Exit(exitInterrupted)
		}
	})
	return ctx, func() {
		close(ended)
		give()
		signal.Stop(pipe)
	}
}

// brokenPipe says that nobody reads what is written.
func brokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) || errors.Is(err, noReader) }
