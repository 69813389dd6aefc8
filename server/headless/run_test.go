package headless

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"

	"nimlet/agent"
	"nimlet/agent/config"
	"nimlet/server"
)

func TestExitStatuses(t *testing.T) {
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	for _, x := range []struct {
		name    string
		outcome outcome
		ctx     context.Context
		write   error // of standard output
		status  int
		says    string // "" for nothing
	}{
		{"done", outcome{reason: agent.Completed}, t.Context(), nil, 0, ""},
		{"done before the interrupt came", outcome{reason: agent.Completed}, interrupted, nil, 0, ""},
		{"failed", outcome{reason: agent.Failed, err: errors.New("no space")}, t.Context(), nil, 1, "no space"},
		{"interrupted", outcome{reason: agent.Cancelled}, interrupted, nil, 130, ""},
		{"interrupted and left behind", outcome{reason: agent.Cancelled, late: true}, interrupted, nil, 130, ""},
		{"out of steps", outcome{reason: agent.MaxSteps}, t.Context(), nil, 1, "agent.max_steps"},
		{"out of tokens", outcome{reason: agent.MaxTokens}, t.Context(), nil, 1, "agent.max_tokens"},
		{"refused", outcome{reason: agent.Refused}, t.Context(), nil, 1, "refused"},
		{"reader gone", outcome{reason: agent.Cancelled}, t.Context(), fmt.Errorf("write: %w", syscall.EPIPE), 1, ""},
		{"disk full", outcome{reason: agent.Completed}, t.Context(), syscall.ENOSPC, 1, "writing the answer"},
	} {
		t.Run(x.name, func(t *testing.T) {
			out := newOutput(nil)
			if x.write != nil {
				out.fail(x.write)
			}
			var said strings.Builder
			status := Exit(&said, runCommand(&Flags{}), x.outcome.status(x.ctx, out))
			if status != x.status {
				t.Errorf("status %d, want %d", status, x.status)
			}
			if x.says == "" && said.Len() > 0 || !strings.Contains(said.String(), x.says) {
				t.Errorf("it says %q, want %q", said.String(), x.says)
			}
		})
	}
}

// A blockingView tells when it is about to write, which then blocks.
type blockingView struct {
	view
	writing chan struct{}
}

func (b blockingView) emit(e agent.Event) {
	if _, ok := e.(agent.TextDelta); ok {
		select {
		case b.writing <- struct{}{}:
		default:
		}
	}
	b.view.emit(e)
}

// A reader that stops reading without going away must not keep an interrupted run from ending.
func TestAnInterruptEndsARunWhoseReaderIsStuck(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	defer r.Close()
	fill(t, w)
	home := config.Home(t.TempDir())
	s := server.New(server.Options{Home: home, Logger: zap.NewNop(), Environ: os.Environ(), NoSession: true, Choice: server.Choice{Provider: "offline"}})
	t.Chdir(t.TempDir())
	out := newOutput(w)
	shown := blockingView{newText(out, os.Stderr), make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan outcome)
	go func() { ended <- new(run).supervise(ctx, out, s, "hello", shown) }()
	<-shown.writing
	cancel()
	select {
	case o := <-ended:
		if !o.late {
			t.Fatalf("the run ended with %+v although nobody read its answer", o)
		}
	case <-time.After(10 * giveUp):
		t.Fatal("the run hangs in a write")
	}
	r.Close() // lets the write go, and with it the turn
	<-out.broken
	if err := s.Shutdown(context.WithoutCancel(ctx)); err != nil {
		t.Error(err)
	}
}

// fill writes until the pipe takes no more.
func fill(t *testing.T, w *os.File) {
	t.Helper()
	if err := w.SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := w.Write(make([]byte, 1<<20)); err == nil {
		t.Fatalf("a pipe took %d bytes", n)
	}
	if err := w.SetWriteDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
}
