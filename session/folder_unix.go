//go:build unix

package session

import "os"

// syncFolder brings the names of new files in dir to the disk; without it a power cut may leave
// a file that no name leads to.
func syncFolder(dir string) {
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	_ = f.Sync() // some file systems refuse it, and need none
	_ = f.Close()
}
