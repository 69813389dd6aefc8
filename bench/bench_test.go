// Package bench measures nimlet as an editor meets it: the real program, over pipes, against the
// least program that could stand in its place (bareloop), run beside it in the same loop, so that a
// busy machine slows both. What counts is the ratio, "x-bare"; nothing here asserts a time.
//
//	go test -run '^$' -bench . ./bench
package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

const (
	nimlet   = "nimlet.exe" // the name ends so on every system; only Windows minds
	bareloop = "bareloop.exe"
)

// folder holds the programs; TestMain makes and removes it.
var folder string

// builds compile each program when it is first needed.
var builds = map[string]func() error{
	nimlet:   sync.OnceValue(func() error { return build(nimlet, "nimlet") }),
	bareloop: sync.OnceValue(func() error { return build(bareloop, "nimlet/bench/bareloop") }),
}

func build(name, pkg string) error {
	c := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(folder, name), pkg)
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", pkg, err, out)
	}
	return nil
}

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "nimlet-bench-*"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := errors.Join(os.RemoveAll(folder), goleak.Find()); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// pairs are the times of nimlet and of the yardstick, in turn.
type pairs struct{ nimlet, bare []time.Duration }

// report prints both medians and their ratio. A median, since one slow disk flush says nothing.
func (p pairs) report(b *testing.B) {
	n, bare := median(p.nimlet), median(p.bare)
	b.ReportMetric(0, "ns/op") // it would be the sum of both
	b.ReportMetric(ms(n), "nimlet-ms")
	b.ReportMetric(ms(bare), "bare-ms")
	b.ReportMetric(float64(n)/float64(bare), "x-bare")
}

func median(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// Start is from nothing to the answer of initialize. Within 1.5 of the yardstick is wanted.
func BenchmarkStart(b *testing.B) {
	var p pairs
	once := func(name string) time.Duration {
		var a *agent
		took := timed(func() {
			a = start(b, name)
			a.initialize()
		})
		a.stop()
		return took
	}
	once(nimlet) // builds, and brings both files into memory
	once(bareloop)
	for b.Loop() {
		p.nimlet, p.bare = append(p.nimlet, once(nimlet)), append(p.bare, once(bareloop))
	}
	p.report(b)
}

// Session is from nothing to the answer of session/new. At most 10 ms beyond initialize are wanted.
func BenchmarkSession(b *testing.B) {
	var p pairs
	var beyond []time.Duration
	once := func(name string) (whole, session time.Duration) {
		var a *agent
		whole = timed(func() {
			a = start(b, name)
			a.initialize()
			session = timed(a.newSession)
		})
		a.stop()
		return whole, session
	}
	once(nimlet)
	once(bareloop)
	for b.Loop() {
		whole, session := once(nimlet)
		p.nimlet, beyond = append(p.nimlet, whole), append(beyond, session)
		whole, _ = once(bareloop)
		p.bare = append(p.bare, whole)
	}
	b.ReportMetric(ms(median(beyond)), "new-ms")
	p.report(b)
}

// Prompt is a short message and its echo, in a session that had one already. At most 0.7 ms beyond
// the yardstick are wanted.
func BenchmarkPrompt(b *testing.B) { prompts(b, "hello", "hello", "hello") }

// Read is a call of read, its result printed. At most 1.5 ms are wanted.
func BenchmarkRead(b *testing.B) { prompts(b, "read notes.txt", "third line", "third line") }

// Bash is a call of bash that does nothing. Within 1.2 of the yardstick is wanted.
func BenchmarkBash(b *testing.B) { prompts(b, "bash true", "`bash true`\n", "") }

// prompts measures one prompt over and over. The answers must contain what is wanted of each program,
// so that one that does nothing is not taken for a fast one.
func prompts(b *testing.B, text, wantNimlet, wantBare string) {
	one, other := start(b, nimlet), start(b, bareloop)
	defer one.stop()
	defer other.stop()
	open := func(a *agent) {
		a.newSession()
		a.prompt("hello") // the first answer of a session says more than the others
	}
	for _, a := range []*agent{one, other} {
		if err := os.WriteFile(filepath.Join(a.folder, "notes.txt"), []byte("first line\nsecond line\nthird line\n"), 0o600); err != nil {
			b.Fatal(err)
		}
		a.initialize()
		open(a)
	}
	disk, err := os.Create(filepath.Join(one.folder, "disk"))
	if err != nil {
		b.Fatal(err)
	}
	defer disk.Close()
	var p pairs
	var flushes []time.Duration
	for b.Loop() {
		if len(p.nimlet)%100 == 99 { // a history of any length is another measurement
			one.closeSession()
			open(one)
			open(other)
		}
		p.nimlet = append(p.nimlet, answered(b, one, text, wantNimlet))
		p.bare = append(p.bare, answered(b, other, text, wantBare))
		flushes = append(flushes, timed(func() { flush(b, disk) }))
	}
	p.report(b)
	b.ReportMetric(ms(median(flushes)), "fsync-ms")
	b.ReportMetric(ms(median(p.nimlet)-median(p.bare)), "beyond-ms")
}

// flush writes what a short turn does and waits for the disk. That wait is the one thing a prompt must
// pay that the yardstick does not, so it is measured beside.
func flush(b *testing.B, f *os.File) {
	_, err := f.Write(make([]byte, 500))
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		b.Fatal(err)
	}
}

func answered(b *testing.B, a *agent, text, want string) (took time.Duration) {
	b.Helper()
	var said string
	took = timed(func() { said = a.prompt(text) })
	if !strings.Contains(said, want) {
		b.Fatalf("%q was answered with %q", text, said)
	}
	return took
}

// Stream is the echo of 50,000 words, each a chunk of the model's stream. All must arrive, in order,
// in flat memory; 100,000 a second are wanted. The yardstick is a pipe of the same lines that nobody
// looks into.
func BenchmarkStream(b *testing.B) {
	const chunks = 50000
	var text strings.Builder
	for i := range chunks {
		fmt.Fprintf(&text, "word%d ", i)
	}
	a := start(b, nimlet)
	defer a.stop()
	a.initialize()
	var took, piped []time.Duration
	var first, last float64
	for b.Loop() {
		a.newSession()
		a.prompt("hello")
		a.bytes, a.lines = 0, 0
		var said string
		took = append(took, timed(func() { said = a.prompt(text.String()) }))
		if !strings.HasPrefix(said, strings.TrimSpace(text.String())) {
			b.Fatalf("of %d bytes came back %d, not all and in order", text.Len(), len(said))
		}
		piped = append(piped, pipe(b, a.lines, a.bytes))
		a.closeSession() // what it held is not what a stream costs
		last, _ = a.resident()
		if first == 0 {
			first = last
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(chunks/median(took).Seconds(), "chunks/s")
	b.ReportMetric(float64(a.lines), "updates")
	b.ReportMetric(float64(median(took))/float64(median(piped)), "x-pipe")
	b.ReportMetric(first, "first-MB")
	b.ReportMetric(last, "last-MB")
}

// pipe sends lines of JSON, of that many bytes in all, through a pipe, and decodes them.
func pipe(b *testing.B, lines, bytes int) time.Duration {
	b.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	line := fmt.Appendf(nil, "%q\n", strings.Repeat("x", max(0, bytes/lines-3)))
	return timed(func() {
		var writer sync.WaitGroup
		writer.Go(func() {
			defer w.Close()
			for range lines {
				if _, err := w.Write(line); err != nil {
					b.Error(err)
					return
				}
			}
		})
		in := bufio.NewReaderSize(r, 1<<20)
		for {
			line, err := in.ReadBytes('\n')
			if err != nil {
				break
			}
			var s string
			if err := json.Unmarshal(line, &s); err != nil {
				b.Error(err)
			}
		}
		writer.Wait()
	})
}

// Memory is what is resident after session/new. Under 25 MB are wanted.
func BenchmarkMemory(b *testing.B) {
	var of [2]float64
	for b.Loop() {
		for i, name := range []string{nimlet, bareloop} {
			a := start(b, name)
			a.initialize()
			a.newSession()
			mb, ok := a.resident()
			a.stop()
			if !ok {
				b.Skipf("%s does not tell how much memory a process has", runtime.GOOS)
			}
			of[i] = max(of[i], mb)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(of[0], "nimlet-MB")
	b.ReportMetric(of[1], "bare-MB")
	b.ReportMetric(of[0]/of[1], "x-bare")
}

// TestYardstickIsAnAgent keeps the yardstick honest: it does what it is compared by.
func TestYardstickIsAnAgent(t *testing.T) {
	a := start(t, bareloop)
	defer a.stop()
	a.initialize()
	a.newSession()
	if err := os.WriteFile(filepath.Join(a.folder, "notes.txt"), []byte("a note"), 0o600); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"hello": "hello", "read notes.txt": "a note", "bash echo $((6*7))": "42\n", "read gone.txt": "gone.txt"} {
		if got := a.prompt(text); !strings.Contains(got, want) {
			t.Errorf("%q is answered with %q, want %q", text, got, want)
		}
	}
}
