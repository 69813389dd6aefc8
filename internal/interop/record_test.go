package interop

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"nimlet/internal/acptest"
)

// recorder is the first argument that makes the test binary stand between a client and its agent.
// The others are the folder of the recordings and the agent's command.
const recorder = "record-wire"

// A recording is a file with each line that crossed the wire, behind "> " when the client sent it
// and "< " when the agent did. A line is recorded before it is passed on, so that no answer stands
// before what it answers.
type recording struct {
	mu   sync.Mutex
	file *os.File
}

func (r *recording) line(mark string, line []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err := fmt.Fprintf(r.file, "%s %s\n", mark, bytes.TrimRight(line, "\r\n"))
	return err
}

// pass records and copies lines until from ends. A last line without its end is dropped.
func (r *recording) pass(mark string, to io.Writer, from io.Reader) error {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return err
		}
		if err := r.line(mark, line); err != nil {
			return err
		}
		if _, err := to.Write(line); err != nil {
			return err
		}
	}
}

// record runs the agent between the client's two ends of the wire, and returns its exit status. A
// client that ends it by a signal has it ended as by one that closes its input.
func record(dir string, agent []string) int {
	file, err := os.CreateTemp(dir, "*.wire")
	if err != nil {
		return complain(err)
	}
	defer file.Close()
	r := &recording{file: file}
	c := exec.Command(agent[0], agent[1:]...)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return complain(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return complain(err)
	}
	ending := make(chan os.Signal, 1)
	signal.Notify(ending, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	if err := c.Start(); err != nil {
		return complain(err)
	}
	go func() { // ends with the process
		_ = r.pass(">", in, os.Stdin)
		_ = in.Close()
	}()
	go func() { // likewise
		<-ending
		_ = in.Close()
	}()
	if err := r.pass("<", os.Stdout, out); !errors.Is(err, io.EOF) {
		_, _ = io.Copy(io.Discard, out) // the client is gone; the agent must still come to its end
	}
	if err := c.Wait(); err != nil {
		return complain(err)
	}
	return 0
}

func complain(err error) int {
	fmt.Fprintf(os.Stderr, "recording: %v\n", err)
	return 1
}

// checkRecordings holds what the agent said to the schema. A test that recorded nothing fails.
func checkRecordings(t *testing.T, dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.wire"))
	if err != nil {
		t.Fatal(err)
	}
	said := 0
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		said += checkRecording(t, data)
	}
	if said == 0 {
		t.Error("the agent said nothing")
	}
}

func checkRecording(t *testing.T, data []byte) (said int) {
	r, err := acptest.NewRecord()
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		mark, text, _ := bytes.Cut(line, []byte(" "))
		if string(mark) == ">" {
			r.Client(text)
			continue
		}
		said++
		if err := r.Agent(text); err != nil {
			t.Errorf("the agent broke the protocol: %v\n%.2000s", err, text)
		}
	}
	return said
}
