package builtin

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nimlet/tooling"
)

// childProcesses returns the names of the children that this process has.
func childProcesses(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(files) == 0 {
		t.Fatalf("reading the children of this process: %v", err)
	}
	for _, file := range files {
		text, _ := os.ReadFile(file) // the thread may have ended
		for _, pid := range strings.Fields(string(text)) {
			name, _ := os.ReadFile("/proc/" + pid + "/comm") // the child likewise
			names = append(names, strings.TrimSpace(string(name)))
		}
	}
	return names
}

func TestCommandsLeaveNoProcess(t *testing.T) {
	tool := newBash(newConfig(t, nil))
	for _, command := range []string{
		"sleep 1000 & true", "(setsid sleep 1000 &)", "setsid sleep 1000 & disown", "nohup sleep 1000 >/dev/null 2>&1 &",
		"(true &); (setsid true &)", "for i in {1..20}; do (setsid sleep 1000 &); done", "sleep 1000 | cat & sleep 1000 | cat & exit 3",
	} {
		run(t, tool, args{"command": command})
		if left := childProcesses(t); len(left) > 0 {
			t.Errorf("%q left %q", command, left)
		}
		ctx, cancel := context.WithCancel(t.Context())
		s := &screen{until: "ready\n", then: cancel}
		_, err := tool.Run(ctx, tooling.Env{Progress: s.show}, callOf(t, tool, args{"command": "(" + command + "); echo ready; sleep 1000"}))
		if err == nil {
			t.Errorf("%q was not cancelled", command)
		}
		if left := childProcesses(t); len(left) > 0 {
			t.Errorf("%q cancelled left %q", command, left)
		}
	}
	refuses(t, tool, args{"command": "setsid -w sleep 1000", "timeout_seconds": 0.2}, "timed out")
	if left := childProcesses(t); len(left) > 0 {
		t.Errorf("left after the time: %q", left)
	}
}
