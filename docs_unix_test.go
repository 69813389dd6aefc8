//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A step is a command that a page shows, and what it shows of the output.
type step struct {
	line    int
	command string
	want    string
}

// steps cuts a console block at its prompts.
func steps(t *testing.T, b block) (list []step) {
	t.Helper()
	for i, line := range strings.Split(strings.TrimRight(b.text, "\n"), "\n") {
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case isCommand:
			list = append(list, step{line: b.line + i, command: command})
		case len(list) == 0:
			t.Fatalf("%v does not begin with a command", b)
		default:
			last := &list[len(list)-1]
			last.want += line + "\n"
		}
	}
	return list
}

// TestConsoleBlocks runs what the pages show at a shell. A page has a home folder and a copy of the
// sample workspace to itself; its blocks are run from top to bottom, so a later one sees what an
// earlier one did. Standard output and standard error are one, as on a terminal. In what is shown, …
// stands for any text, on a line of its own for any lines.
func TestConsoleBlocks(t *testing.T) {
	ran := 0
	for _, page := range pages(t) {
		blocks, _ := fences(t, page)
		t.Run(filepath.Base(page), func(t *testing.T) {
			env := newShell(t)
			for _, b := range blocks {
				if b.info != "console" {
					continue
				}
				for _, s := range steps(t, b) {
					ran++
					got := env.run(t, s.command)
					if !printsAs(s.want, got) {
						t.Errorf("%s:%d: %s\nprints:\n%s\nand is said to print:\n%s", b.page, s.line, s.command, got, s.want)
					}
				}
			}
		})
	}
	if ran == 0 {
		t.Error("no page shows a command")
	}
}

// A shellHome is where the commands of a page are run.
type shellHome struct {
	dir string // the workspace
	env []string
}

func newShell(t *testing.T) shellHome {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, home := filepath.Join(base, "greet"), filepath.Join(base, "home")
	if err := os.CopyFS(dir, os.DirFS("examples/sample-workspace")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}
	putFile(t, filepath.Join(home, ".gitconfig"), "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n")
	return shellHome{dir, []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + base, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1",
	}}
}

// run runs a command as a shell does and returns what it printed.
func (s shellHome) run(t *testing.T, command string) string {
	t.Helper()
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c := exec.Command("sh", "-c", command)
	c.Dir, c.Env, c.Stdout, c.Stderr = s.dir, s.env, out, out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(hang, func() { _ = c.Process.Kill() })
	_ = c.Wait() // pages show the status with echo $?
	if !late.Stop() {
		t.Fatalf("%s did not end within %v", command, hang)
	}
	printed, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(printed)
}

// printsAs compares what was printed with what a page shows of it.
func printsAs(want, got string) bool {
	var pattern strings.Builder
	for line := range strings.Lines(strings.TrimRight(want, "\n") + "\n") {
		if line == "…\n" {
			pattern.WriteString(`(?:[^\n]*\n)*`)
			continue
		}
		for i, piece := range strings.Split(strings.TrimRight(line, " \n"), "…") {
			if i > 0 {
				pattern.WriteString(`[^\n]*`)
			}
			pattern.WriteString(regexp.QuoteMeta(piece))
		}
		pattern.WriteString(`[ \t]*\n`)
	}
	return regexp.MustCompile(`\A` + pattern.String() + `\n*\z`).MatchString(strings.TrimRight(got, "\n") + "\n")
}
