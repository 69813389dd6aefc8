package headless

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// maxPiped is more than any model takes in, and keeps a wrong file from filling the memory.
const maxPiped = 16 << 20

// sayWaiting is how long standard input may be silent before it is said that it is waited for.
const sayWaiting = 2 * time.Second

// readPrompt makes the prompt of the arguments and what is piped into standard input, which stands
// before them. The argument - alone has standard input read also from a terminal.
func readPrompt(ctx context.Context, args []string) (string, error) {
	asked := len(args) == 1 && args[0] == "-"
	if asked {
		args = nil
	}
	prompt := strings.Join(args, " ")
	if asked || piped(os.Stdin) {
		input, err := readInput(ctx, os.Stdin)
		if err != nil {
			return "", err
		}
		if prompt != "" && input != "" {
			input += "\n\n"
		}
		prompt = input + prompt
	}
	if strings.TrimSpace(prompt) == "" {
		return "", usageErrorf("there is no prompt: give one, or pipe one in")
	}
	return strings.ToValidUTF8(prompt, "\uFFFD"), nil
}

// piped says that standard input was given for the prompt: it is a file, a pipe or a socket, and not
// a terminal or the null device.
func piped(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0
}

// readInput reads f to its end, or until ctx ends; the read is then left to the process's end.
func readInput(ctx context.Context, f *os.File) (string, error) {
	type read struct {
		data []byte
		err  error
	}
	done := make(chan read, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(f, maxPiped+1))
		done <- read{data, err}
	}()
	waiting := time.NewTimer(sayWaiting)
	defer waiting.Stop()
	for {
		select {
		case <-waiting.C:
			fmt.Fprintln(os.Stderr, "reading standard input, which has not ended; </dev/null leaves it out")
		case <-ctx.Done():
			return "", ctx.Err()
		case r := <-done:
			return checkInput(r.data, r.err)
		}
	}
}

func checkInput(data []byte, err error) (string, error) {
	switch {
	case err != nil:
		return "", fmt.Errorf("reading standard input: %w", err)
	case len(data) > maxPiped:
		return "", usageErrorf("standard input is longer than %d MiB: put it into a file and name that in the prompt", maxPiped>>20)
	case strings.IndexByte(string(data), 0) >= 0:
		return "", usageErrorf("standard input is not text: put it into a file and name that in the prompt")
	}
	return strings.TrimRight(string(data), " \t\r\n"), nil
}
