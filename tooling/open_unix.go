//go:build unix

package tooling

import "syscall"

// nonBlocking keeps open(2) from waiting for the other end of a FIFO.
const nonBlocking = syscall.O_NONBLOCK
