package transport

import (
	"fmt"
	"io"
	"os"
)

// Stdio takes the process's standard input and output for the protocol. It moves both to private
// handles that no child inherits, and leaves the null device as standard input and standard error as
// standard output: what a library prints, or a child that was given os.Stdout, cannot break into a
// message, and no child can eat one. os.Stdin and os.Stdout follow.
//
// Call it once, first thing. After an error the process's streams are as they were or half moved, and
// there is nothing to do but to exit.
func Stdio() (in io.ReadCloser, out io.WriteCloser, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("taking standard input and output: %w", err)
	}
	defer null.Close()
	i, o, err := takeStdio(null)
	if err != nil {
		return nil, nil, fmt.Errorf("taking standard input and output: %w", err)
	}
	return i, o, nil
}
