package transport

import (
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// awaitParent blocks until the parent process is gone, and says whether it is, or until done is
// closed. A kqueue waits for both: the exit of the parent and an event of our own.
func awaitParent(done <-chan struct{}) (gone bool) {
	queue, err := unix.Kqueue()
	if err != nil {
		return false
	}
	defer unix.Close(queue)
	pid := os.Getppid()
	const wake = 1
	_, err = unix.Kevent(queue, []unix.Kevent_t{
		{Ident: uint64(pid), Filter: unix.EVFILT_PROC, Flags: unix.EV_ADD | unix.EV_ONESHOT, Fflags: unix.NOTE_EXIT},
		{Ident: wake, Filter: unix.EVFILT_USER, Flags: unix.EV_ADD | unix.EV_ONESHOT},
	}, nil, nil)
	if errors.Is(err, unix.ESRCH) || os.Getppid() != pid {
		return true
	}
	if err != nil {
		return false
	}
	ended := make(chan struct{})
	var waker sync.WaitGroup
	waker.Go(func() {
		select {
		case <-done:
			// The queue is open until we have been waited for, so this cannot fail but for memory.
			_, _ = unix.Kevent(queue, []unix.Kevent_t{{Ident: wake, Filter: unix.EVFILT_USER, Fflags: unix.NOTE_TRIGGER}}, nil, nil)
		case <-ended:
		}
	})
	defer waker.Wait()
	defer close(ended)
	events := make([]unix.Kevent_t, 1)
	for {
		n, err := unix.Kevent(queue, nil, events, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil || n == 0:
			return false
		default:
			return events[0].Filter == unix.EVFILT_PROC
		}
	}
}
