package session

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// Environment of a test binary that plays a part: which one, and in which folder.
const (
	roleEnv = "SESSION_TEST_ROLE"
	dirEnv  = "SESSION_TEST_DIR"
	fromEnv = "SESSION_TEST_FROM"
)

// play runs the part of a child and returns its exit status.
func play(role string) int {
	parts := map[string]func(dir string) error{"stream": playStream, "hold": playHold, "enter": playEnter, "starve": playStarved}
	part, ok := parts[role]
	if !ok {
		return 2
	}
	if err := part(os.Getenv(dirEnv)); err != nil {
		fmt.Fprintln(os.Stderr, role+":", err)
		return 1
	}
	return 0
}

// child starts the test binary in a role; its end is waited for when the test ends.
func child(t *testing.T, role, dir string, env ...string) (c *exec.Cmd, in io.WriteCloser, out *bufio.Reader) {
	t.Helper()
	c = exec.Command(os.Args[0])
	c.Env = append(os.Environ(), append(env, roleEnv+"="+role, dirEnv+"="+dir)...)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	must(t, err)
	stdout, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	t.Cleanup(func() {
		if c.ProcessState == nil {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	})
	return c, in, bufio.NewReader(stdout)
}

// playStream goes on with session 1 for ever: it streams answers and outputs of calls made of
// numbered tokens, and prints each number once it would have been shown.
func playStream(dir string) error {
	n, err := strconv.Atoi(os.Getenv(fromEnv))
	if err != nil {
		return err
	}
	s, err := Open(dir, "1")
	if err != nil {
		return err
	}
	defer s.Close()
	for turn := n; ; turn++ {
		if n, err = streamTurn(s, turn, n); err != nil {
			return err
		}
	}
}

func streamTurn(s *Store, turn, n int) (next int, err error) {
	show := func(kind PartialKind, id string, count int) string {
		var text strings.Builder
		for range count {
			token := fmt.Sprintf("<%d>", n)
			if err == nil {
				err = s.Partial(Partial{kind, id, token})
			}
			if err == nil {
				fmt.Println(n)
			}
			text.WriteString(token)
			n++
		}
		return text.String()
	}
	do := func(events ...Event) {
		if err == nil {
			err = s.Append(events...)
		}
	}
	do(user("go"))
	thought, said := show(PartialThinking, "m", turn%3), show(PartialText, "m", 1+turn%5)
	a, b := use(fmt.Sprintf("a%d", turn)), use(fmt.Sprintf("b%d", turn))
	do(Assistant{Content: []Part{Thinking{Thinking: thought}, Text{said}, a, b}})
	outA, outB := show(PartialOutput, a.ID, 2), show(PartialOutput, b.ID, 2)
	do(ToolResult{ID: b.ID, Output: outB})
	do(ToolResult{ID: a.ID, Output: outA})
	s.Sync()
	if err == nil && turn%4 == 0 {
		err = s.Flush(context.Background())
	}
	return n, err
}

// playHold keeps session 1 open until its input ends.
func playHold(dir string) error {
	s, err := Open(dir, "1")
	if err != nil {
		return err
	}
	fmt.Println("open")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return s.Close()
}

// playEnter makes 20 sessions, with some activity in each.
func playEnter(dir string) error {
	for range 20 {
		s, err := Create(dir, Header{Workspace: "/child"})
		if err != nil {
			return err
		}
		if err := s.Append(user("from "+strconv.Itoa(os.Getpid())), answer("ok")); err != nil {
			return err
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
	return nil
}
