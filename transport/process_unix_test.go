//go:build unix

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
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "TRANSPORT_TEST_ROLE=server")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
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
		if cause := context.Cause(ctx); cause != nil {
			fmt.Fprintln(os.Stderr, "cause:", cause)
		}
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
			return func() (any, error) { return map[string]any{"ignored": pollute()}, nil }
		}
		return common(ctx, req)
	}
}

// pollute prints in every way there is, and returns whether a child would ignore SIGPIPE.
func pollute() bool {
	fmt.Println("printed")
	fmt.Fprintln(os.Stdout, "printed to os.Stdout")
	println("printed by the runtime")
	syscall.Write(1, []byte("written to descriptor 1\n"))
	for _, script := range []string{"echo from a child", "echo to each descriptor; for f in 3 4 5 6 7 8 9; do (echo leak >&$f) 2>/dev/null; done; cat"} {
		cmd := exec.Command("sh", "-c", script)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		cmd.Run()
	}
	return signal.Ignored(syscall.SIGPIPE)
}

// A process is a child of the test that plays a role.
type process struct {
	*peer
	cmd    *exec.Cmd
	stderr *bytes.Buffer
}

func start(t *testing.T, role string) *process {
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
		peer:   &peer{t: t, dialect: ACP, in: in, out: bufio.NewReader(out), outFile: out},
		cmd:    exec.Command(os.Args[0]),
		stderr: new(bytes.Buffer),
	}
	p.cmd.Env = append(os.Environ(), "TRANSPORT_TEST_ROLE="+role)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = serverIn, serverOut, p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	serverIn.Close()
	serverOut.Close()
	t.Cleanup(func() {
		syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // the group, whatever is left of it
		in.Close()
		out.Close()
		p.cmd.Wait()
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

// Each way to end a process, while each kind of handler is at work.
func TestProcessEnds(t *testing.T) {
	endings := []struct {
		name string
		role string
		end  func(p *process)
	}{
		{"SIGTERM", "server", func(p *process) { p.cmd.Process.Signal(syscall.SIGTERM) }},
		{"SIGHUP", "server", func(p *process) { p.cmd.Process.Signal(syscall.SIGHUP) }},
		{"SIGINT", "server", func(p *process) { p.cmd.Process.Signal(syscall.SIGINT) }},
		{"stdin closed", "server", func(p *process) { p.in.Close() }},
		{"parent killed", "launcher", func(p *process) { p.cmd.Process.Kill() }},
	}
	for _, e := range endings {
		for _, work := range []string{"", "slow", "prompt", "stuck", "flood"} {
			t.Run(strings.TrimSpace(e.name+" "+work), func(t *testing.T) {
				t.Parallel()
				p := start(t, e.role)
				if work != "" {
					p.send(`{"jsonrpc":"2.0","id":2,"method":"` + work + `"}`)
				}
				if work == "flood" {
					p.receive() // and no more, until the pipe is full and the writer blocks
				} else {
					p.send(`{"jsonrpc":"2.0","id":3,"method":"echo"}`)
					p.expect("3 ok null")
				}
				e.end(p)
				if e.role == "server" {
					if err := p.cmd.Wait(); err != nil {
						t.Errorf("process: %v", err)
					}
				}
				p.gone()
			})
		}
	}
}

func TestProcessEndsWhenNobodyReads(t *testing.T) {
	for _, work := range []string{"slow", "flood"} {
		t.Run(work, func(t *testing.T) {
			p := start(t, "server")
			p.send(`{"jsonrpc":"2.0","id":2,"method":"` + work + `"}`)
			p.outFile.Close()
			p.send(`{"jsonrpc":"2.0","id":3,"method":"echo"}`) // whose answer meets the closed pipe
			if err := p.cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(p.stderr.String(), "broken pipe") {
				t.Errorf("stderr is %q, want the broken pipe named", p.stderr)
			}
		})
	}
}

func TestCancelledCallsAreAnsweredBeforeTheProcessEnds(t *testing.T) {
	p := start(t, "server")
	p.send(`{"jsonrpc":"2.0","id":2,"method":"prompt"}`, `{"jsonrpc":"2.0","id":3,"method":"echo"}`)
	p.expect("3 ok null")
	p.cmd.Process.Signal(syscall.SIGTERM)
	p.expect(`2 ok "cancelled"`)
	p.gone()
}

func TestOnlyTheProtocolIsOnStandardOutput(t *testing.T) {
	p := start(t, "server")
	p.send(`{"jsonrpc":"2.0","id":2,"method":"pollute"}`)
	p.expect(`2 ok {"ignored":false}`)
	p.in.Close()
	if m, err := p.next(); err != io.EOF {
		t.Errorf("after the last answer: %v, %v, want the end", m, err)
	}
	p.cmd.Wait()
	for _, want := range []string{"printed\n", "printed to os.Stdout\n", "written to descriptor 1\n", "from a child\n", "to each descriptor\n"} {
		if !strings.Contains(p.stderr.String(), want) {
			t.Errorf("stderr is %q, want %q in it", p.stderr, want)
		}
	}
}
