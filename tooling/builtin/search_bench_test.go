package builtin

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nimlet/session"
	"nimlet/tooling"
)

// sources is the folder of the Go source tree, which is wherever there is a Go to test with.
func sources(b *testing.B) string {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(root)), "src")
}

func configFor(b *testing.B, dir string) Config {
	w, err := NewWorkspace(dir, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = w.Close() })
	return Config{Workspace: w}
}

// patterns is what a grep is asked for in practice, and the worst that it can be asked for.
var patterns = []struct {
	name, pattern string
	ignoreCase    bool
}{
	{"rare", "deadlineExceededError", false},
	{"common", "Reader", false},
	{"case", "deadline exceeded", true},
	{"words", `func \(\w+ \*?Reader\) Read\w*\(`, false},
	{"either", "errUnexpectedEOF|ErrNotExistXX|ErrProcessDoneXX", false},
	{"none", `\d{7}[g-z]\d`, false},
}

// BenchmarkGrep searches the Go sources with ripgrep behind the tool and without; "rg" is the
// program alone, with what the tool asks of it, and the ratio is to that.
func BenchmarkGrep(b *testing.B) {
	c := configFor(b, sources(b))
	for _, p := range patterns {
		b.Run(p.name, func(b *testing.B) {
			input := args{"pattern": p.pattern, "case_insensitive": p.ignoreCase}
			ways := greps(c)
			yardstick := func() {}
			if rg := ways["ripgrep"]; rg.ripgrep != "" {
				yardstick = func() { bareRipgrep(b, rg, p.pattern, p.ignoreCase) }
			}
			for name, tool := range ways {
				b.Run(name, func(b *testing.B) { against(b, yardstick, tool, callOf(b, tool, input)) })
			}
		})
	}
}

// against measures a call of tool and what the yardstick takes right before each.
func against(b *testing.B, yardstick func(), tool tooling.Tool, call session.Call) {
	var ours, theirs time.Duration
	for b.Loop() {
		start := time.Now()
		yardstick()
		between := time.Now()
		r, err := tool.Run(b.Context(), tooling.Env{}, call)
		if err != nil || r.IsError {
			b.Fatal(r.Output, err)
		}
		ours += time.Since(between)
		theirs += between.Sub(start)
	}
	b.ReportMetric(float64(ours)/float64(max(theirs, 1)), "ratio")
	b.ReportMetric(float64(ours.Milliseconds())/float64(b.N), "ms/ours")
	b.ReportMetric(float64(theirs.Milliseconds())/float64(b.N), "ms/theirs")
}

func bareRipgrep(b *testing.B, rg grep, pattern string, ignoreCase bool) {
	q, err := newQuery(pattern, "", ignoreCase)
	if err != nil {
		b.Fatal(err)
	}
	same, _ := q.ripgrepPattern()
	p, err := rg.Workspace.Resolve(".", ForReading)
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(rg.ripgrep, q.ripgrepArgs(same, p)...)
	cmd.Dir = p.Path
	if _, err := cmd.Output(); err != nil && cmd.ProcessState.ExitCode() != 1 {
		b.Fatal(err)
	}
}

// BenchmarkGlob lists a repository of the size of the Go sources. The ratio is to git ls-files,
// which reads the names from its index ("index"), and to git looking at the folders ("walk").
func BenchmarkGlob(b *testing.B) {
	dir := realTemp(b)
	if err := os.CopyFS(dir, os.DirFS(sources(b))); err != nil {
		b.Fatal(err)
	}
	git := func(args ...string) {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if _, err := cmd.Output(); err != nil {
			b.Fatal(err)
		}
	}
	git("init", "-q")
	git("add", "-A")
	tool := glob{configFor(b, dir)}
	for _, pattern := range []string{"**/*_test.go", "**"} {
		call := callOf(b, tool, args{"pattern": pattern})
		b.Run(pattern+"/index", func(b *testing.B) { against(b, func() { git("ls-files") }, tool, call) })
		b.Run(pattern+"/walk", func(b *testing.B) {
			against(b, func() { git("ls-files", "--cached", "--others", "--exclude-standard") }, tool, call)
		})
	}
}
