package acp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A line that begins and ends like an event shows its damage only when it is decoded.
func TestDamageThatShowsOnlyWhenAnEventIsReadIsTold(t *testing.T) {
	for _, method := range []string{"session/load", "session/resume"} {
		t.Run(method, func(t *testing.T) {
			d, id := ready(t, `{"session":{"notices":{}}}`, nil)
			d.Say(id, "one")
			d.Say(id, "two")
			d.leave()
			path := filepath.Join(d.home.SessionsDir(), id+".jsonl")
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.SplitAfter(string(data), "\n")
			lines[1] = strings.TrimSuffix(lines[1], "\n") // two events in one line
			if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600); err != nil {
				t.Fatal(err)
			}
			d.start(nil)
			d.Initialize(`{"session":{"notices":{}}}`)
			d.Call(method, map[string]any{"sessionId": id, "cwd": d.dir, "mcpServers": []any{}}, nil)
			if got := told(d.Say(id, "three")); len(got) != 1 || !strings.Contains(got[0], "line 2 is damaged") {
				t.Errorf("told %q", got)
			}
			if got := told(d.Say(id, "four")); len(got) != 0 {
				t.Errorf("told again: %q", got)
			}
		})
	}
}

func TestThatADamagedFileWasKeptIsTold(t *testing.T) {
	d, id := ready(t, `{"session":{"notices":{}}}`, nil)
	d.Say(id, "one")
	d.leave()
	path := filepath.Join(d.home.SessionsDir(), id+".jsonl")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(data, `{"type":"us`...), 0o600); err != nil {
		t.Fatal(err)
	}
	d.start(nil)
	d.Initialize(`{"session":{"notices":{}}}`)
	d.Call("session/resume", map[string]any{"sessionId": id, "cwd": d.dir}, nil)
	all := strings.Join(told(d.Say(id, "two")), "\n")
	if !strings.Contains(all, "line 4 was not written whole") || !strings.Contains(all, "kept as "+id+".jsonl.recovery-") {
		t.Errorf("told %q", all)
	}
}
