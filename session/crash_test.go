package session

import (
	"errors"
	"io"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var token = regexp.MustCompile(`<(\d+)>`)

// tokens counts the tokens that the events of s hold.
func tokens(s *Store) map[int]int {
	counts := map[int]int{}
	count := func(text string) {
		for _, m := range token.FindAllStringSubmatch(text, -1) {
			n, _ := strconv.Atoi(m[1])
			counts[n]++
		}
	}
	for _, e := range s.All() {
		switch e := e.(type) {
		case Assistant:
			for _, p := range e.Content {
				switch p := p.(type) {
				case Text:
					count(p.Text)
				case Thinking:
					count(p.Thinking)
				}
			}
		case ToolResult:
			count(e.Output)
		}
	}
	return counts
}

// A process that streams into one session is killed again and again. What it had shown must be
// in the session, once.
func TestNothingShownIsLostByAKill(t *testing.T) {
	dir := lay(t, testHeader, "")
	from := 0
	for round := range 50 {
		shown := killStreaming(t, dir, from)
		s := open(t, dir, "1")
		counts := tokens(s)
		for n := range from + shown {
			if counts[n] != 1 {
				t.Fatalf("round %d: token %d of %d is there %d times", round, n, from+shown, counts[n])
			}
		}
		checkPairs(t, "round "+strconv.Itoa(round), s.Messages())
		for _, w := range s.Warnings() {
			if strings.Contains(w, "skipped") { // a last line that is not whole was never announced
				t.Fatalf("round %d: a kill damaged the file: %s", round, w)
			}
		}
		from = len(counts)
		must(t, s.Close())
	}
}

// killStreaming lets a child stream for a while, kills it and returns how many tokens it showed.
func killStreaming(t *testing.T, dir string, from int) (shown int) {
	t.Helper()
	c, _, out := child(t, "stream", dir, fromEnv+"="+strconv.Itoa(from))
	stop := rand.IntN(60)
	for {
		_, err := out.ReadString('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		if shown++; shown == stop+1 {
			must(t, c.Process.Kill())
		}
	}
	if err := c.Wait(); err == nil {
		t.Fatal("the child ended by itself")
	}
	return shown
}
