//go:build !windows

package builtin

import (
	"io/fs"
	"os"
	"syscall"
)

// nonBlocking keeps open(2) from waiting for the other end of a FIFO.
const nonBlocking = syscall.O_NONBLOCK

// keepOwner gives f the owner that info names, as far as this process may: root, in a container,
// edits files of somebody else.
func keepOwner(f *os.File, info fs.FileInfo) {
	want, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(want.Uid) == os.Geteuid() && int(want.Gid) == os.Getegid() {
		return
	}
	// Refused to all but root; the content matters more than the owner.
	_ = f.Chown(int(want.Uid), int(want.Gid))
}
