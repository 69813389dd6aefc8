package transport

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// play is what the test binary does when it is run as a process of a test.
func play(role string) {
	switch role {
	case "server":
		os.Exit(playServer())
	case "launcher": // a parent of the server, and nothing else
		cmd := child("server")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "chatter": // a child of the server that reads and writes whatever it was given
		for fd := range uintptr(20) {
			if f := os.NewFile(fd+3, "inherited"); f != nil {
				f.WriteString("leaked\n")
			}
		}
		n, _ := io.Copy(io.Discard, os.Stdin)
		fmt.Println("child read", n, "bytes; ignores SIGPIPE:", signal.Ignored(syscall.SIGPIPE))
	}
}

func child(role string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TRANSPORT_TEST_ROLE="+role)
	return cmd
}

func playServer() int {
	in, out, err := Stdio()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, stop := Lifetime(context.Background())
	defer stop()
	if err := Serve(ctx, in, out, Options{}, playHandler); err != nil {
		fmt.Fprintln(os.Stderr, "ended:", err)
	}
	return 0
}

func playHandler(c *Conn) Handler {
	common := echo(c)
	return func(ctx context.Context, req Request) func() (any, error) {
		switch req.Method {
		case "stuck":
			return func() (any, error) { select {} }
		case "flood":
			return func() (any, error) {
				for ctx.Err() == nil {
					if err := c.Notify(ctx, "more", strings.Repeat("x", 1000)); err != nil {
						return nil, err
					}
				}
				return nil, ctx.Err()
			}
		case "pollute":
			return func() (any, error) { return nil, pollute() }
		}
		return common(ctx, req)
	}
}

// pollute prints in every way there is.
func pollute() error {
	fmt.Println("printed")
	fmt.Fprintln(os.Stdout, "printed to os.Stdout")
	println("printed by the runtime")
	cmd := child("chatter")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}

// A process is a child of the test that serves a peer.
type process struct {
	*peer
	cmd    *exec.Cmd
	stderr *bytes.Buffer
}

func start(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	serverIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, serverOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{
		peer: &peer{t: t, dialect: ACP, in: in, out: bufio.NewReader(out), outFile: out},
		cmd:  cmd, stderr: new(bytes.Buffer),
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = serverIn, serverOut, p.stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	serverIn.Close()
	serverOut.Close()
	t.Cleanup(func() {
		cmd.Process.Kill()
		in.Close()
		out.Close()
		cmd.Wait()
		t.Log(p.stderr)
	})
	p.send(`{"jsonrpc":"2.0","id":1,"method":"echo"}`)
	p.expect("1 ok null")
	return p
}

// gone waits until every process that holds the write end of the output has ended.
func (p *process) gone() {
	p.t.Helper()
	p.outFile.SetReadDeadline(time.Now().Add(hang))
	if _, err := io.Copy(io.Discard, p.out); err != nil {
		p.t.Fatalf("the process does not end: %v", err)
	}
}

// testEnding ends a process while each kind of handler is at work in turn.
func testEnding(t *testing.T, role string, end func(p *process)) {
	for _, work := range []string{"", "slow", "prompt", "stuck", "flood"} {
		t.Run(work, func(t *testing.T) {
			t.Parallel()
			p := start(t, child(role))
			if work != "" {
				p.send(`{"jsonrpc":"2.0","id":2,"method":"` + work + `"}`)
			}
			if work == "flood" {
				p.receive() // and no more, until the pipe is full and the writer blocks
			} else {
				p.send(`{"jsonrpc":"2.0","id":3,"method":"echo"}`)
				p.expect("3 ok null")
			}
			end(p)
			if role == "server" {
				if err := p.cmd.Wait(); err != nil {
					t.Errorf("process: %v", err)
				}
			}
			p.gone()
		})
	}
}

func TestProcessEndsWithItsInput(t *testing.T) {
	testEnding(t, "server", func(p *process) { p.in.Close() })
}

func TestProcessEndsWithItsParent(t *testing.T) {
	testEnding(t, "launcher", func(p *process) { p.cmd.Process.Kill() })
}

func TestProcessEndsWhenNobodyReads(t *testing.T) {
	for _, work := range []string{"slow", "flood"} {
		t.Run(work, func(t *testing.T) {
			p := start(t, child("server"))
			p.send(`{"jsonrpc":"2.0","id":2,"method":"` + work + `"}`)
			p.outFile.Close()
			// The answer meets the closed pipe, if the process still lives to be asked.
			p.in.WriteString(`{"jsonrpc":"2.0","id":3,"method":"echo"}` + "\n")
			if err := p.cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(p.stderr.String(), "writing to the peer") {
				t.Errorf("stderr is %q, want the broken output named", p.stderr)
			}
		})
	}
}

func TestOnlyTheProtocolIsOnStandardOutput(t *testing.T) {
	p := start(t, child("server"))
	p.send(`{"jsonrpc":"2.0","id":2,"method":"pollute"}`)
	p.expect("2 ok null")
	p.in.Close()
	if m, err := p.next(); err != io.EOF {
		t.Errorf("after the last answer: %v, %v, want the end", m, err)
	}
	p.cmd.Wait()
	for _, want := range []string{"printed\n", "printed to os.Stdout\n", "by the runtime\n", "child read 0 bytes; ignores SIGPIPE: false\n"} {
		if !strings.Contains(p.stderr.String(), want) {
			t.Errorf("stderr is %q, want %q in it", p.stderr, want)
		}
	}
}
