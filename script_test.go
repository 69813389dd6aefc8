package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// hang bounds what must not hang; nothing that works comes near it.
const hang = 20 * time.Second

// status N program args... runs a program that must exit with status N.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N program args...")
	}
	err := ts.Exec(args[1], args[2:]...)
	checkStatus(ts, args[0], err)
}

func checkStatus(ts *testscript.TestScript, want string, err error) {
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(got) != want {
		ts.Fatalf("exit status %d, want %s", got, want)
	}
}

// start starts a program in the script's folder and environment.
func start(ts *testscript.TestScript, args []string, stderr io.Writer) (*exec.Cmd, io.WriteCloser, io.ReadCloser) {
	path, err := exec.LookPath(args[0])
	ts.Check(err)
	c := exec.Command(path, args[1:]...)
	c.Dir = ts.MkAbs(".")
	for _, name := range []string{"WORK", "PATH", "HOME", "USERPROFILE", "TMPDIR", "TMP", "SYSTEMROOT", "NIMLET_HOME"} {
		if value := ts.Getenv(name); value != "" {
			c.Env = append(c.Env, name+"="+value)
		}
	}
	c.Stderr = stderr
	in, err := c.StdinPipe()
	ts.Check(err)
	out, err := c.StdoutPipe()
	ts.Check(err)
	ts.Check(c.Start())
	return c, in, out
}

// finish waits for a program whose output was read to its end.
func finish(ts *testscript.TestScript, c *exec.Cmd) error {
	late := time.AfterFunc(hang, func() { _ = c.Process.Kill() })
	err := c.Wait()
	if !late.Stop() {
		ts.Fatalf("%s did not end within %v", c.Args[0], hang)
	}
	return err
}

// interrupt [-each] N pattern program args... runs a program and sends it an interrupt when a line of
// its standard output matches the pattern, or at each that does. It must exit with status N.
func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	each := len(args) > 0 && args[0] == "-each"
	if each {
		args = args[1:]
	}
	if neg || len(args) < 3 {
		ts.Fatalf("usage: interrupt N pattern program args...")
	}
	pattern := regexp.MustCompile(args[1])
	var stderr bytes.Buffer
	c, in, out := start(ts, args[2:], &stderr)
	ts.Check(in.Close())
	late := time.AfterFunc(hang, func() { _ = c.Process.Kill() })
	matched := false
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		_, _ = io.WriteString(ts.Stdout(), line)
		if (each || !matched) && pattern.MatchString(line) {
			matched = true
			ts.Check(c.Process.Signal(os.Interrupt))
		}
		if err != nil {
			break
		}
	}
	late.Stop()
	err := finish(ts, c)
	_, _ = stderr.WriteTo(ts.Stderr())
	if !matched {
		ts.Fatalf("no line of standard output matched %s", args[1])
	}
	checkStatus(ts, args[0], err)
}

// closing N program args... runs a program and closes its standard output, as head -1 does, when it
// has written its first byte. It must exit with status N.
func closing(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: closing N program args...")
	}
	var stderr bytes.Buffer
	c, in, out := start(ts, args[1:], &stderr)
	ts.Check(in.Close())
	_, err := io.ReadFull(out, make([]byte, 1))
	ts.Check(err)
	ts.Check(out.Close())
	err = finish(ts, c)
	_, _ = stderr.WriteTo(ts.Stderr())
	checkStatus(ts, args[0], err)
}

// gone file... checks that the processes whose ids stand in the files are no more.
func gone(ts *testscript.TestScript, neg bool, args []string) {
	for _, file := range args {
		for _, word := range strings.Fields(ts.ReadFile(file)) {
			pid, err := strconv.Atoi(word)
			ts.Check(err)
			if running(pid) == !neg {
				ts.Fatalf("process %d of %s: running is %v", pid, file, !neg)
			}
		}
	}
}

// crlf file... gives the lines of files the ends that Windows has.
func crlf(ts *testscript.TestScript, neg bool, args []string) {
	for _, file := range args {
		data := strings.ReplaceAll(ts.ReadFile(file), "\n", "\r\n")
		ts.Check(os.WriteFile(ts.MkAbs(file), []byte(data), 0o666))
	}
}

// append file line puts a line behind those of a file.
func appendLine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: append file line")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(ts.ReadFile(args[0])+args[1]+"\n"), 0o666))
}

// session NAME sets the variable to the id of the newest session of the folder.
func newestSession(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: session NAME")
	}
	c, in, out := start(ts, []string{"nimlet", "session", "list", "--json"}, ts.Stderr())
	ts.Check(in.Close())
	var newest struct{ ID string }
	decodeErr := json.NewDecoder(out).Decode(&newest)
	_, _ = io.Copy(io.Discard, out)
	ts.Check(finish(ts, c))
	ts.Check(decodeErr)
	ts.Setenv(args[0], newest.ID)
}

// A record keeps what a program writes on standard error, which may be read while it runs.
type record struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.buf.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.buf.String()
}
