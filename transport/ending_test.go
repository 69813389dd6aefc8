package transport

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAnswersGoOutAfterTheInputEnded(t *testing.T) {
	eachDialect(t, func(t *testing.T, d Dialect) {
		release := make(chan struct{})
		p := connect(t, d, Options{}, func(c *Conn) Handler {
			common := echo(c)
			return func(ctx context.Context, req Request) func() (any, error) {
				if req.Method != "wait" {
					return common(ctx, req)
				}
				return func() (any, error) { <-release; return "done", nil }
			}
		})
		p.send(`{"jsonrpc":"2.0","id":1,"method":"wait"}`, `{"jsonrpc":"2.0","id":2,"method":"slow"}`,
			`{"jsonrpc":"2.0","id":3,"method":"prompt"}`, `{"jsonrpc":"2.0","method":"wait"}`)
		p.in.Close()
		close(release)
		p.expect(`1 ok "done"`)
		got := map[string]bool{p.receive().String(): true, p.receive().String(): true}
		if !got["2 -32800"] || !got[`3 ok "cancelled"`] {
			t.Errorf("after the grace: %v", got)
		}
		if _, err := p.next(); err != io.EOF {
			t.Errorf("after the last answer: %v", err)
		}
		if err := p.wait(); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
}

// In a bubble the clock is exact: what is asserted is which limit ends what, not a speed.
func TestNothingOutlastsItsLimit(t *testing.T) {
	tests := []struct {
		name string
		work string // method in progress
		end  func(in *io.PipeWriter, cancel context.CancelFunc)
		took time.Duration
		err  string // in the error of Serve; empty for none
	}{
		{"input ends", "slow", func(in *io.PipeWriter, _ context.CancelFunc) { in.Close() }, answerGrace, ""},
		{"input ends, stuck", "stuck", func(in *io.PipeWriter, _ context.CancelFunc) { in.Close() }, answerGrace + stuckLimit, "handlers ignore that the connection ended: stuck"},
		{"input breaks", "slow", func(in *io.PipeWriter, _ context.CancelFunc) { in.CloseWithError(errors.New("torn")) }, answerGrace, "torn"},
		{"context ends", "slow", func(_ *io.PipeWriter, cancel context.CancelFunc) { cancel() }, 0, "context canceled"},
		{"context ends, stuck", "stuck", func(_ *io.PipeWriter, cancel context.CancelFunc) { cancel() }, stuckLimit, "stuck"},
		{"input ends, output blocked", "tell", func(in *io.PipeWriter, _ context.CancelFunc) { in.Close() }, answerGrace + blockedLimit, "does not read"},
		{"context ends, output blocked", "tell", func(_ *io.PipeWriter, cancel context.CancelFunc) { cancel() }, blockedLimit, "context canceled"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				serverIn, in := io.Pipe()
				out, serverOut := io.Pipe()
				ctx, cancel := context.WithCancel(t.Context())
				release := make(chan struct{})
				served := make(chan error)
				go func() {
					served <- Serve(ctx, serverIn, serverOut, Options{}, func(c *Conn) Handler {
						return func(ctx context.Context, req Request) func() (any, error) {
							return func() (any, error) {
								switch req.Method {
								case "stuck":
									<-release
								case "tell":
									return nil, c.Notify(ctx, "told", nil)
								default:
									<-ctx.Done()
								}
								return nil, nil
							}
						}
					})
				}()
				fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"`+tt.work+`"}`)
				if tt.work != "tell" { // else nobody reads
					go io.Copy(io.Discard, out)
				}
				synctest.Wait()
				began := time.Now()
				tt.end(in, cancel)
				err := <-served
				if took := time.Since(began); took < tt.took || took > tt.took+closeLimit {
					t.Errorf("took %v, want %v", took, tt.took)
				}
				if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
					t.Errorf("Serve: %v, want %q", err, tt.err)
				}
				cancel()
				close(release)
			})
		})
	}
}

func TestBrokenOutputCancelsEverything(t *testing.T) {
	p := connect(t, ACP, Options{}, echo)
	p.send(`{"jsonrpc":"2.0","id":1,"method":"slow"}`)
	p.outFile.Close()
	p.send(`{"jsonrpc":"2.0","id":2,"method":"echo"}`)
	if err := p.wait(); err == nil || !strings.Contains(err.Error(), "writing to the peer") {
		t.Errorf("Serve: %v", err)
	}
}

func TestACancelledSenderDoesNotWaitForAPeerThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		serverIn, in := io.Pipe()
		out, serverOut := io.Pipe()
		conns := make(chan *Conn, 1)
		served := make(chan error, 1)
		go func() {
			served <- Serve(t.Context(), serverIn, serverOut, Options{Dialect: ACP}, func(c *Conn) Handler {
				conns <- c
				return echo(c)
			})
		}()
		c := <-conns
		ctx, cancel := context.WithCancel(t.Context())
		sent := make(chan error, 2)
		go func() { sent <- c.Notify(ctx, "blocked in the output", nil) }()
		synctest.Wait()
		go func() { sent <- c.Notify(ctx, "waiting for the output", nil) }() // no Call: the library pools channels across bubbles
		synctest.Wait()
		cancel()
		for range 2 {
			if err := <-sent; !errors.Is(err, errBlocked) {
				t.Errorf("sending: %v", err)
			}
		}

		r := bufio.NewReader(out) // the peer wakes up, and the connection is as good as before
		if m, err := readMessage(r, ACP); err != nil || m.Method != "blocked in the output" {
			t.Errorf("%v, %v", m, err)
		}
		// Under a cancelled context, what the output takes goes out all the same.
		go func() { sent <- c.Notify(ctx, "late", nil) }()
		if m, err := readMessage(r, ACP); err != nil || m.Method != "late" {
			t.Errorf("%v, %v", m, err)
		}
		if err := <-sent; err != nil {
			t.Error(err)
		}
		in.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}
