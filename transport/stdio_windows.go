package transport

import (
	"os"

	"golang.org/x/sys/windows"
)

// takeStdio changes the process's standard handles for children, and the files behind os.Stdin and
// os.Stdout for this process. These are overwritten in place, for a library may have kept os.Stdout.
func takeStdio(null *os.File) (in, out *os.File, err error) {
	if in, err = private(os.Stdin, "protocol input"); err != nil {
		return nil, nil, err
	}
	if out, err = private(os.Stdout, "protocol output"); err != nil {
		return nil, nil, err
	}
	nothing, err := private(null, os.DevNull) // null itself is closed by the caller
	if err != nil {
		return nil, nil, err
	}
	if err := windows.SetStdHandle(windows.STD_INPUT_HANDLE, windows.Handle(nothing.Fd())); err != nil {
		return nil, nil, os.NewSyscallError("SetStdHandle", err)
	}
	if err := windows.SetStdHandle(windows.STD_OUTPUT_HANDLE, windows.Handle(os.Stderr.Fd())); err != nil {
		return nil, nil, os.NewSyscallError("SetStdHandle", err)
	}
	*os.Stdin, *os.Stdout = *nothing, *os.Stderr
	return in, out, nil
}

// private duplicates f to a handle that no child inherits.
func private(f *os.File, name string) (*os.File, error) {
	self := windows.CurrentProcess()
	var h windows.Handle
	err := windows.DuplicateHandle(self, windows.Handle(f.Fd()), self, &h, 0, false, windows.DUPLICATE_SAME_ACCESS)
	if err != nil {
		return nil, os.NewSyscallError("DuplicateHandle", err)
	}
	return os.NewFile(uintptr(h), name), nil
}
