package transport

import (
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// awaitParent blocks until the parent process is gone, and says whether it is, or until done is closed.
// A pidfd becomes readable when its process exits, and the runtime's poller does the waiting. Where
// there are none (Linux before 5.3) the parent is not watched; the end of input tells as a rule.
func awaitParent(done <-chan struct{}) (gone bool) {
	pid := os.Getppid()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return errors.Is(err, unix.ESRCH)
	}
	if os.Getppid() != pid { // it went before we could look, and fd may be anyone's
		unix.Close(fd)
		return true
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return false
	}
	return awaitReadable(os.NewFile(uintptr(fd), "parent process"), done)
}

// awaitReadable blocks until f is readable, and says whether it is, or until done is closed; f is
// closed in the end.
func awaitReadable(f *os.File, done <-chan struct{}) (readable bool) {
	ended := make(chan struct{})
	var closer sync.WaitGroup
	closer.Go(func() {
		select {
		case <-done:
		case <-ended:
		}
		f.Close() // which ends the wait below
	})
	defer closer.Wait()
	defer close(ended)
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	err = conn.Read(func(fd uintptr) bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		readable = err == nil && n > 0
		return readable
	})
	return err == nil && readable
}
