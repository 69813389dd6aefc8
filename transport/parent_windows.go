package transport

import (
	"os"
	"sync"

	"golang.org/x/sys/windows"
)

// awaitParent blocks until the parent process is gone, and says whether it is, or until done is
// closed. It waits for the parent's handle and an event of our own.
func awaitParent(done <-chan struct{}) (gone bool) {
	parent, ok := openParent()
	if !ok {
		return false
	}
	defer windows.CloseHandle(parent)
	wake, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		return false
	}
	defer windows.CloseHandle(wake)
	ended := make(chan struct{})
	var waker sync.WaitGroup
	waker.Go(func() {
		select {
		case <-done:
			_ = windows.SetEvent(wake) // our own event: the handle is open until we have been waited for
		case <-ended:
		}
	})
	defer waker.Wait()
	defer close(ended)
	n, err := windows.WaitForMultipleObjects([]windows.Handle{parent, wake}, false, windows.INFINITE)
	return err == nil && n == windows.WAIT_OBJECT_0
}

// openParent is not ok if the parent cannot be watched. The number that Windows remembers may belong
// to another process by now, if the parent is gone; that one is younger than we are.
func openParent() (windows.Handle, bool) {
	const access = windows.SYNCHRONIZE | windows.PROCESS_QUERY_LIMITED_INFORMATION
	h, err := windows.OpenProcess(access, false, uint32(os.Getppid()))
	if err != nil {
		return 0, false
	}
	theirs, err1 := created(h)
	ours, err2 := created(windows.CurrentProcess())
	if err1 != nil || err2 != nil || theirs > ours {
		windows.CloseHandle(h)
		return 0, false
	}
	return h, true
}

// created returns when a process began, in nanoseconds since 1970.
func created(process windows.Handle) (int64, error) {
	var creation, exit, kernel, user windows.Filetime
	err := windows.GetProcessTimes(process, &creation, &exit, &kernel, &user)
	return creation.Nanoseconds(), err
}
