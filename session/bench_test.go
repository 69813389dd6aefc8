package session

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
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

// filled makes a session with n messages.
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

// A session of 200 MB: opened, and opened up to the first request to a model.
func BenchmarkOpenLarge(b *testing.B) {
	dir := b.TempDir()
	s, err := Create(dir, Header{Workspace: "/ws"})
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; s.end < 200<<20; i++ {
		list := exchange(i)
		list[2] = ToolResult{ID: list[2].(ToolResult).ID, Output: strings.Repeat("a line of what some command printed\n", 2000)}
		if err := s.Append(list...); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for name, walk := range map[string]func(*Store) int{
		"open":  func(s *Store) int { return s.Len() },
		"model": func(s *Store) int { return len(s.Messages()) },
	} {
		b.Run(name, func(b *testing.B) {
			plain := yardstick(b, s.Path())
			b.SetBytes(s.end)
			for b.Loop() {
				o, err := Open(dir, s.ID())
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

// What stays in memory of an open session of 10,000 messages, before and after a model's view.
func BenchmarkResident(b *testing.B) {
	s := filled(b, b.TempDir(), 10000)
	heap := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc) / (1 << 20)
	}
	for b.Loop() {
		before := heap()
		o, err := Open(s.dir, s.ID())
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(heap()-before, "MB-open")
		if len(o.Messages()) == 0 {
			b.Fatal("no messages")
		}
		b.ReportMetric(heap()-before, "MB-with-messages")
		if err := o.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	events := exchange(1)
	b.Run("file", func(b *testing.B) {
		f, err := os.Create(filepath.Join(b.TempDir(), "plain"))
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		line, err := EncodeEvent(events[1])
		if err != nil {
			b.Fatal(err)
		}
		start, rounds := time.Now(), 1000
		for range rounds {
			if _, err := f.Write(line); err != nil {
				b.Fatal(err)
			}
		}
		plain := float64(time.Since(start).Nanoseconds()) / float64(rounds)
		s := filled(b, b.TempDir(), 5)
		if s, err = Open(s.dir, s.ID()); err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		for b.Loop() {
			if err := s.Append(events[1]); err != nil {
				b.Fatal(err)
			}
		}
		ratio(b, plain, "x-plain-write")
	})
	b.Run("partial", func(b *testing.B) {
		s := filled(b, b.TempDir(), 5)
		s, err := Open(s.dir, s.ID())
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		for b.Loop() {
			if err := s.Partial(Partial{PartialText, "m", "some words of an answer"}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// The first page of 10 and of 10,000 sessions, beside a plain read of as many bytes.
func BenchmarkList(b *testing.B) {
	for _, n := range []int{10, 10000} {
		dir := b.TempDir()
		for i := range n {
			file := testHeader + `{"type":"user","role":"user","content":[{"type":"text","text":"do something"}]}` + "\n"
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(1700000000000000+i)+".jsonl"), []byte(file), 0o600); err != nil {
				b.Fatal(err)
			}
		}
		for name, prepare := range map[string]func() error{
			"first":                func() error { return nil },
			"after-foreign-change": func() error { return os.Chtimes(dir, time.Time{}, time.Now().Add(time.Hour)) },
			"rebuilt":              func() error { return os.Remove(indexPath(dir)) },
		} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for range 2 { // the first makes the index
					if p, err := List(dir, Query{Limit: 10}); err != nil || len(p.Sessions) != 10 {
						b.Fatal(len(p.Sessions), err)
					}
				}
				plain := yardstick(b, filepath.Join(dir, "1700000000000000.jsonl"))
				for b.Loop() {
					if err := prepare(); err != nil {
						b.Fatal(err)
					}
					if p, err := List(dir, Query{Limit: 10}); err != nil || len(p.Sessions) != 10 {
						b.Fatal(len(p.Sessions), err)
					}
				}
				ratio(b, plain, "x-reading-one-file")
			})
		}
	}
}
