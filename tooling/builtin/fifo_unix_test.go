//go:build !windows

package builtin

import (
	"net"
	"path/filepath"
	"syscall"
	"testing"
)

// Nothing waits for the other end of a pipe, and nothing is written into one.
func TestPipesAndSocketsAreRefused(t *testing.T) {
	c := newConfig(t, map[string]string{"f.txt": "needle\n"})
	root := c.Workspace.Root()
	must(t, syscall.Mkfifo(filepath.Join(root, "pipe"), 0o666))
	socket, err := net.Listen("unix", filepath.Join(root, "s"))
	must(t, err)
	defer socket.Close()
	for name, want := range map[string]string{"pipe": "named pipe", "s": "socket"} {
		refuses(t, read{c}, args{"path": name}, name, want)
		refuses(t, edit{c}, args{"path": name, "old_text": "a", "new_text": "b"}, want)
		refuses(t, write{c}, args{"path": name, "content": "x", "overwrite": true}, want)
		refuses(t, grep{Config: c}, args{"path": name, "pattern": "x"}, want)
	}
	checkGrep(t, c, args{"pattern": "needle"}, "f.txt:1:needle\n")
}
