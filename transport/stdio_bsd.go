//go:build unix && !linux

package transport

import (
	"os"

	"golang.org/x/sys/unix"
)

// replace makes fd what from is, inherited by children.
func replace(fd, from int) error {
	return os.NewSyscallError("dup2", unix.Dup2(from, fd))
}
