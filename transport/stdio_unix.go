//go:build unix

package transport

import (
	"os"

	"golang.org/x/sys/unix"
)

// takeStdio works on descriptors 0 and 1, so it holds for whoever kept os.Stdout, too.
func takeStdio(null *os.File) (in, out *os.File, err error) {
	if in, err = private(0, "protocol input"); err != nil {
		return nil, nil, err
	}
	if out, err = private(1, "protocol output"); err != nil {
		return nil, nil, err
	}
	if err := replace(0, int(null.Fd())); err != nil {
		return nil, nil, err
	}
	if err := replace(1, 2); err != nil {
		return nil, nil, err
	}
	return in, out, nil
}

// private duplicates fd to one that is closed on exec.
func private(fd uintptr, name string) (*os.File, error) {
	d, err := unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(d), name), nil
}
