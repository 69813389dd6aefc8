//go:build unix

package transport

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

func TestProcessEndsBySignal(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		t.Run(s.String(), func(t *testing.T) {
			testEnding(t, "server", func(p *process) { p.cmd.Process.Signal(s) })
		})
	}
}

func TestCancelledCallsAreAnsweredBeforeTheProcessEnds(t *testing.T) {
	p := start(t, child("server"))
	p.send(`{"jsonrpc":"2.0","id":2,"method":"prompt"}`, `{"jsonrpc":"2.0","id":3,"method":"echo"}`)
	p.expect("3 ok null")
	p.cmd.Process.Signal(syscall.SIGTERM)
	p.expect(`2 ok "cancelled"`)
	p.gone()
}

func TestSignalsAfterTheFirstDoNotCutTheEndShort(t *testing.T) {
	p := start(t, child("server"))
	p.send(`{"jsonrpc":"2.0","id":2,"method":"stuck"}`, `{"jsonrpc":"2.0","id":3,"method":"slow"}`)
	p.send(`{"jsonrpc":"2.0","id":4,"method":"echo"}`)
	p.expect("4 ok null")
	p.cmd.Process.Signal(syscall.SIGTERM)
	p.expect("3 -32800") // so the first has been seen, and the end waits for what is stuck
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		p.cmd.Process.Signal(s)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("process: %v, want its end in good order", err)
	}
	p.gone()
}

func TestAnIgnoredHangupStaysIgnored(t *testing.T) {
	cmd := exec.Command("sh", "-c", `trap "" HUP; exec "$0"`, os.Args[0])
	cmd.Env = child("server").Env
	p := start(t, cmd)
	p.cmd.Process.Signal(syscall.SIGHUP)
	p.send(`{"jsonrpc":"2.0","id":2,"method":"echo"}`)
	p.expect("2 ok null")
	p.in.Close()
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("process: %v", err)
	}
}
