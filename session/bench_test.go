package session

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// exchange is what one step of a usual turn leaves: five messages.
func exchange(i int) []Event {
	id := "call_" + strconv.Itoa(i)
	input, _ := json.Marshal(map[string]any{"path": fmt.Sprintf("pkg/file%d.go", i), "start_line": i})
	old := strings.Repeat("func old() {}\n", 10)
	return []Event{
		user(fmt.Sprintf("Please look at file %d and tell me what it does, then fix the bug in it.", i)),
		Assistant{Content: []Part{
			Thinking{Thinking: strings.Repeat("I should read the file first. ", 5), Signature: "c2ln"},
			Text{Text: strings.Repeat("Let me look at the file. ", 8)},
			ToolUse{Call: Call{ID: id, Name: "read", Input: input}},
		}, Model: "some-model", Provider: "some-provider", Usage: &Usage{Input: 1000 + i, Output: 200}},
		ToolResult{ID: id, Output: strings.Repeat("12\t\tif err != nil { return \"x\", err }\n", 40)},
		Mark{Display: &Display{Call: id, Diffs: []Diff{{Path: "/ws/a.go", Old: &old, New: old + "x"}}, Locations: []Location{{Path: "/ws/a.go", Line: i}}}}.Event(),
		answer(strings.Repeat("The file holds a parser of <tags> & more.\n", 12)),
		user("Thanks, go on."),
	}
}

// filled makes a session with n messages, and as many bytes more as padding says.
func filled(b testing.TB, dir string, n int) *Store {
	b.Helper()
	s, err := Create(dir, Header{Workspace: "/ws"})
	if err != nil {
		b.Fatal(err)
	}
	for i := range n / 5 {
		if err := s.Append(exchange(i)...); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	return s
}

// yardstick is the time that a plain read of the file takes, for a ratio beside each result.
func yardstick(b *testing.B, path string) float64 {
	b.Helper()
	const rounds = 5
	start := time.Now()
	for range rounds {
		if _, err := os.ReadFile(path); err != nil {
			b.Fatal(err)
		}
	}
	return float64(time.Since(start).Nanoseconds()) / rounds
}

func ratio(b *testing.B, against float64, name string) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/against, name)
}

func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		s := filled(b, b.TempDir(), n)
		info, err := os.Stat(s.Path())
		if err != nil {
			b.Fatal(err)
		}
		for name, walk := range map[string]func(*Store) int{
			"open":   func(s *Store) int { return s.Len() },
			"replay": func(s *Store) int { return len(events(s)) },
			"model":  func(s *Store) int { return len(s.Messages()) },
		} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				plain := yardstick(b, s.Path())
				b.SetBytes(info.Size())
				b.ReportAllocs()
				for b.Loop() {
					o, err := Open(filepath.Dir(s.Path()), s.ID())
					if err != nil {
						b.Fatal(err)
					}
					if walk(o) == 0 {
						b.Fatal("no events")
					}
					if err := o.Close(); err != nil {
						b.Fatal(err)
					}
				}
				ratio(b, plain, "x-plain-read")
			})
		}
	}
}
