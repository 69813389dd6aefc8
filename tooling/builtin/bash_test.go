package builtin

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"nimlet/session"
	"nimlet/tooling"
)

// A screen holds what a running call has shown, and calls back once it shows a text.
type screen struct {
	mu    sync.Mutex
	parts []string
	until string
	then  func()
}

func (s *screen) show(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts = append(s.parts, text)
	if s.then != nil && strings.Contains(strings.Join(s.parts, ""), s.until) {
		s.then()
		s.then = nil
	}
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.parts, "")
}

func TestBashTellsHowItWent(t *testing.T) {
	c := newConfig(t, map[string]string{"a.txt": "x\n"})
	tool := newBash(c)
	has(t, works(t, tool, args{"command": "cat a.txt; echo err >&2; echo out"}), "exit code 0 after ", "\n\nx\nerr\nout\n")
	has(t, works(t, tool, args{"command": "true"}), "exit code 0", "no output")
	refuses(t, tool, args{"command": "echo no; exit 3"}, "exit code 3", "no\n")
	refuses(t, tool, args{"command": "kill -9 $$"}, "signal SIGKILL")
	refuses(t, tool, args{"command": "nosuchcommand"}, "exit code 127")
	refuses(t, tool, args{"command": "echo \x00"}, "NUL")
	has(t, works(t, tool, args{"command": "read x; echo \"[$x]\"; pwd"}), "[]\n"+c.Workspace.Root()+"\n")
}

func TestExitCodeIsKeptForTheTerminal(t *testing.T) {
	tool := newBash(newConfig(t, nil))
	for command, want := range map[string]int{"true": 0, "exit 3": 3, "kill -9 $$": -1} {
		got := -1
		if r := run(t, tool, args{"command": command}); r.ExitCode != nil {
			got = *r.ExitCode
		}
		if got != want {
			t.Errorf("%s: exit code %d, want %d (-1 for none)", command, got, want)
		}
	}
}

func TestBashNamesWhatItEnded(t *testing.T) {
	text := works(t, newBash(newConfig(t, nil)), args{"command": "sleep 1000 & echo hi"})
	has(t, text, "exit code 0", "still running when the command ended, and ended with it: ", "\nhi\n")
}

func TestBashTimesOut(t *testing.T) {
	tool := newBash(newConfig(t, nil))
	refuses(t, tool, args{"command": "echo begun; sleep 1000", "timeout_seconds": 0.5}, "timed out: the command was ended after 500ms", "begun\n")
}

func TestBashIsCancelledWithItsTree(t *testing.T) {
	tool := newBash(newConfig(t, nil))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := &screen{until: "ready", then: cancel}
	begun := time.Now()
	result, err := tool.Run(ctx, tooling.Env{Progress: s.show}, callOf(t, tool, args{"command": "sleep 1000 & echo ready; sleep 1000"}))
	if !errors.Is(err, context.Canceled) || !strings.Contains(result.Output, "ready\n") {
		t.Errorf("got %+v, %v", result, err)
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("took %s", took)
	}
}

// Each command is a shell of its own: a bad one does not touch the next.
func TestOddCommandsDoNotTouchTheNext(t *testing.T) {
	tool := newBash(newConfig(t, nil))
	refuses(t, tool, args{"command": `echo "open`}, "exit code")
	has(t, works(t, tool, args{"command": "echo next"}), "next\n")
	long := "x='" + strings.Repeat("a", 200_000) + "'\necho ${#x}"
	has(t, works(t, tool, args{"command": long}), "200000\n")
	refuses(t, tool, args{"command": long + "\nexit 7"}, "exit code 7")
	refuses(t, tool, args{"command": "cd /; exit 1"}, "exit code 1")
	has(t, works(t, tool, args{"command": "pwd"}), tool.(bash).Workspace.Root())
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "nimlet-*.sh")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestOutputIsShownInWholeCharacters(t *testing.T) {
	const given, want = "漢字🍎ab\xffc\x00d\xf0\x9f\x8d", "漢字🍎ab\uFFFDcd\uFFFD\uFFFD\uFFFD"
	for size := 1; size <= len(given); size++ {
		s := &screen{}
		o := newOutput(Config{}, "id", s.show)
		for begin := 0; begin < len(given); begin += size {
			if _, err := o.Write([]byte(given[begin:min(begin+size, len(given))])); err != nil {
				t.Fatal(err)
			}
		}
		o.finish()
		if s.text() != want || o.text() != "\n"+want {
			t.Errorf("in pieces of %d: shown %q, result %q", size, s.text(), o.text())
		}
	}
	result := works(t, newBash(newConfig(t, nil)), args{"command": `for b in '\xe6' '\xbc' '\xa2' a; do printf "$b"; done`})
	has(t, result, "漢a")
}

func TestBashShowsOutputAsItComes(t *testing.T) {
	tool := newBash(newConfig(t, nil))
	goOn := filepath.Join(t.TempDir(), "go on")
	s := &screen{until: "first\n", then: func() {
		if err := os.WriteFile(goOn, nil, 0o600); err != nil {
			t.Error(err)
		}
	}}
	command := "echo first; until [ -e '" + goOn + "' ]; do sleep 0.02; done; echo second"
	result, err := tool.Run(t.Context(), tooling.Env{Progress: s.show}, callOf(t, tool, args{"command": command}))
	if err != nil || result.IsError || !strings.HasSuffix(result.Output, "first\nsecond\n") {
		t.Errorf("got %+v, %v", result, err)
	}
}

func TestBashKeepsTheTailAndTheWholeInAFile(t *testing.T) {
	c := newConfig(t, nil)
	c.MaxOutput = 1000
	c.OutputDir = filepath.Join(t.TempDir(), "made", "when needed")
	text := works(t, newBash(c), args{"command": "for i in {1..500}; do echo line $i; done"})
	has(t, text, "exit code 0", "the output has 4392 bytes", "line 500\n", "!line 300\n")
	if len(text) > 1400 {
		t.Errorf("%d bytes", len(text))
	}
	_, rest, _ := strings.Cut(text, "all of it is in ")
	name, shown, _ := strings.Cut(rest, "\n\n")
	if !strings.HasPrefix(shown, "line ") {
		t.Errorf("the end begins in the middle of a line: %.30q", shown)
	}
	whole, err := os.ReadFile(name)
	if err != nil || len(whole) != 4392 || !strings.HasSuffix(string(whole), shown) || !strings.HasPrefix(string(whole), "line 1\n") {
		t.Errorf("the file has %d bytes, %v", len(whole), err)
	}
	works(t, newBash(c), args{"command": "echo short"})
	if files, _ := os.ReadDir(c.OutputDir); len(files) != 1 {
		t.Errorf("%d files", len(files))
	}
}

func TestCapAppliesWhereNothingCanBeKept(t *testing.T) {
	c := newConfig(t, map[string]string{"file": ""})
	c.MaxOutput = 1000
	for dir, want := range map[string]string{
		"": "the rest is not kept",
		filepath.Join(c.Workspace.Root(), "file", "dir"): "the rest is lost: it could not be kept in a file",
	} {
		c.OutputDir = dir
		text := works(t, newBash(c), args{"command": "for i in {1..500}; do echo line $i; done"})
		has(t, text, want, "line 500\n")
		if len(text) > 1500 {
			t.Errorf("%d bytes", len(text))
		}
	}
}

func TestHugeOutputTakesLittleMemory(t *testing.T) {
	c := newConfig(t, nil)
	c.OutputDir = t.TempDir()
	o := newOutput(c, "../../id", func(string) {})
	chunk := []byte(strings.Repeat("some text that is written\n", 1260))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const chunks = 4000 // 130 MB
	for range chunks {
		if _, err := o.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	o.finish()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 4<<20 {
		t.Errorf("memory grew by %d bytes", grown)
	}
	info, err := os.Stat(o.file.Name())
	if err != nil || info.Size() != int64(chunks*len(chunk)) {
		t.Errorf("the file: %v, %v", info, err)
	}
	if filepath.Dir(o.file.Name()) != c.OutputDir {
		t.Errorf("the file is %s", o.file.Name())
	}
}

func TestBashEnvironment(t *testing.T) {
	c := newConfig(t, map[string]string{"rc": "echo from the rc\n"})
	rc := filepath.Join(c.Workspace.Root(), "rc")
	c.Env = append(os.Environ(), "BASH_ENV="+rc, "ENV="+rc, "NIMLET_HOME=/x", "NIMLET_SECRET=s", "MINE=m", "PAGER=less")
	text := works(t, newBash(c), args{"command": "env; shopt login_shell || true"})
	has(t, text, "!from the rc", "!NIMLET_SECRET", "!NIMLET_HOME", "NIMLET_CALL=", "MINE=m", "TERM=dumb", "PAGER=cat", "GIT_PAGER=cat", "!PAGER=less", "login_shell", "\toff")
}

func TestBashSaysWhatIsNotSaved(t *testing.T) {
	c, e := newEditorConfig(t, map[string]string{"a.go": "disk\n"})
	e.texts[filepath.Join(c.Workspace.Root(), "a.go")] = "unsaved\n"
	if text := works(t, newBash(c), args{"command": "cat a.go"}); !strings.HasPrefix(text, "not saved in the editor: a.go\nexit code 0") {
		t.Errorf("got %q", text)
	}
}

func TestBashPermission(t *testing.T) {
	tool := newBash(newConfig(t, nil)).(tooling.Guarded)
	need := func(command string) tooling.Need {
		return tool.Permission(callOf(t, tool.(tooling.Tool), args{"command": command}))
	}
	if n := need("  go test ./...\n"); n != (tooling.Need{Key: "bash:go test ./...", Subject: "go test ./...", Remember: true}) {
		t.Errorf("got %+v", n)
	}
	for _, command := range []string{"rm x", "ls\nls", "$x", "echo '", "a() { b; }"} {
		if n := need(command); n.Key != "" || n.Remember || n.Free || n.Reason == "" || n.Subject != command {
			t.Errorf("%q: %+v", command, n)
		}
	}
	if n := tool.Permission(session.Call{Name: "bash", Input: []byte("{")}); n.Free || n.Remember {
		t.Errorf("of broken arguments: %+v", n)
	}
}

// One answer covers one text, and no other that holds it.
func TestGrantForOneCommandCoversNoOther(t *testing.T) {
	tool := newBash(newConfig(t, nil))
	p := tooling.NewPermissions(tooling.PermissionsConfig{})
	asked := 0
	check := func(command string) {
		_, err := p.Check(t.Context(), tool, callOf(t, tool, args{"command": command}), func(context.Context, tooling.PermissionRequest) (tooling.Verdict, error) {
			asked++
			return tooling.AllowSession, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	check("git status")
	check("git status")
	if asked != 1 {
		t.Errorf("asked %d times for one command", asked)
	}
	for i, command := range []string{"rm x", "git status; rm x", "git status && rm x", "$(rm x)", "git status -v", "git statu"} {
		check(command)
		if asked != i+2 {
			t.Errorf("%q did not ask", command)
		}
	}
}

func TestBashTitle(t *testing.T) {
	tool := newBash(newConfig(t, nil))
	for command, want := range map[string]string{
		"ls": "ls", "ls\nls": "ls …", " \nls": "ls", strings.Repeat("ü", 300): strings.Repeat("ü", 200) + " …",
	} {
		if title, _ := tooling.Describe(tool, callOf(t, tool, args{"command": command})); title != want {
			t.Errorf("of %q: %q", command, title)
		}
	}
	if title, _ := tooling.Describe(tool, session.Call{Name: "bash", Input: []byte("[]")}); title != "bash" {
		t.Errorf("of broken arguments: %q", title)
	}
}
