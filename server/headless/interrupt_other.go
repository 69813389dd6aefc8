//go:build !windows

package headless

import "syscall"

// noReader is EPIPE: only Windows has a second name for it.
const noReader = syscall.EPIPE
