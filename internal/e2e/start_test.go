package e2e_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nimlet/internal/acptest"
)

// without returns the environment without variables.
func without(env []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(names, name)
	})
}

// mustWork has a conversation: text, a file read, and an output that is longer than what is shown.
func (d *desk) mustWork() {
	d.t.Helper()
	d.write("a.txt", "alpha\n")
	d.write("big.txt", strings.Repeat("a line of a large file\n", 40_000))
	id := d.New(d.dir)
	updates := d.Say(id, "hello there\nread a.txt\nbash cat big.txt")
	if err := contains(acptest.Text(updates, "agent_message_chunk"), "hello there", "alpha"); err != nil {
		d.t.Error(err)
	}
	for _, u := range updates {
		if u.Line > 64<<10 {
			d.t.Errorf("a line has %d bytes", u.Line)
		}
		if u.String("status") == "failed" {
			d.t.Errorf("a call failed: %.2000v", u.Body)
		}
	}
}

func TestItStartsWhereMuchIsMissing(t *testing.T) {
	// Where no home is named, it is that of the account that runs the test, which is only read.
	const readOnly = "--no-session"
	for name, prepare := range map[string]func(*desk){
		"fresh home": func(d *desk) {
			d.env = append(without(d.env, "NIMLET_HOME", "HOME", "USERPROFILE"), "HOME="+folder(d.t), "USERPROFILE="+folder(d.t))
		},
		"no home at all": func(d *desk) {
			d.env = without(d.env, "NIMLET_HOME", "HOME", "USERPROFILE")
			d.args = append(d.args, readOnly)
		},
		"a home that is not there": func(d *desk) {
			d.env = append(d.env, "NIMLET_HOME="+filepath.Join(folder(d.t), "a", "b", "c"))
		},
		"a file in place of the home": func(d *desk) {
			d.put(d.home, "")
		},
		"a file in place of the sessions": func(d *desk) {
			d.put(filepath.Join(d.home, "sessions"), "")
		},
		"no folder for temporary files": func(d *desk) {
			d.env = append(d.env, "TMPDIR="+filepath.Join(folder(d.t), "gone"))
		},
		"an empty environment": func(d *desk) {
			d.env = []string{"PATH=" + os.Getenv("PATH"), "SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}
			d.args = append(d.args, readOnly)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "--yolo")
			prepare(d)
			d.start()
			d.Initialize(`{}`)
			d.mustWork()
		})
	}
}

func TestWhereNothingCanBeStoredThePersonIsToldOnce(t *testing.T) {
	d := newDesk(t)
	d.put(d.home, "")
	d.start()
	d.Initialize(`{"session":{"notices":{}}}`)
	id := d.New(d.dir)
	d.Call("session/set_mode", map[string]any{"sessionId": id, "modeId": "plan"}, nil)
	told := 0
	for _, text := range []string{"hello", "/name kept in mind", "what did I say first?"} {
		for _, u := range d.Say(id, text) {
			if u.Kind == "notice" && strings.Contains(u.String("title"), "not stored") {
				told++
			}
		}
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
	start := len(d.Updates(id))
	d.Load(id, d.dir)
	if text := acptest.Text(d.Updates(id)[start:], "user_message_chunk"); !strings.HasPrefix(text, "hello") {
		t.Errorf("the live session is shown as %q", text)
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "nimlet-"+id+"*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q (%v)", left, err)
	}
}

// put writes a file with the folders it lies in.
func (d *desk) put(path, text string) {
	d.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// The editor of these tests fails a test on any line that is no message, so standard output is
// clean where they pass.
func TestStandardOutputHoldsNothingButMessages(t *testing.T) {
	for name, prepare := range map[string]func(*desk){
		"broken config":          func(d *desk) { d.put(filepath.Join(d.home, "config.json"), "{ not JSON") },
		"config of wrong types":  func(d *desk) { d.put(filepath.Join(d.home, "config.json"), `{"agent": 7, "acp": [], "what": {}}`) },
		"config that is no file": func(d *desk) { d.put(filepath.Join(d.home, "config.json", "x"), "") },
		"broken grants":          func(d *desk) { d.put(filepath.Join(d.home, "grants.json"), "\x00\x00") },
		"broken trust":           func(d *desk) { d.put(filepath.Join(d.home, "trust.json"), "[") },
		"instructions of bytes":  func(d *desk) { d.put(filepath.Join(d.home, "AGENTS.md"), "\xff\xfe\x00") },
		"an old store": func(d *desk) {
			sessions := filepath.Join(d.home, "sessions")
			d.put(filepath.Join(sessions, "1690000000000000.jsonl"), `{"type":"session","workspace":"/gone"}`+"\n"+`{"type":"user","content":[{"type":"text","text":"hi"}]}`+"\n")
			d.put(filepath.Join(sessions, "1690000000000001.jsonl"), "garbage\n")
			d.put(filepath.Join(sessions, "1690000000000002.jsonl"), "")
			d.put(filepath.Join(sessions, "1690000000000003.jsonl"), `{"type":"session","version":99,"workspace":"/"}`+"\n")
			d.put(filepath.Join(sessions, "notes.txt"), "mine\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "--yolo", "--log-level", "debug")
			prepare(d)
			d.start()
			d.Initialize(`{}`)
			d.Call("session/list", map[string]any{}, nil)
			d.mustWork()
			d.in.Close()
			if code := d.gone(); code != 0 {
				t.Errorf("exit status %d; standard error: %s", code, d.stderr)
			}
		})
	}
}

func TestAnUnknownSessionIsAnsweredAtOnce(t *testing.T) {
	d := sit(t)
	for _, id := range []string{"1", "1690000000000000", "", "..", "../../etc/passwd", "no such", strings.Repeat("9", 5000), "a\x00b"} {
		for _, method := range []string{"session/load", "session/resume"} {
			if err := d.Fail(method, map[string]any{"sessionId": id, "cwd": d.dir, "mcpServers": []any{}}); err.Code != -32002 && err.Code != -32602 {
				t.Errorf("%s of %.30q is answered %v", method, id, err)
			}
		}
		if err := d.Fail("session/prompt", map[string]any{"sessionId": id, "prompt": []any{map[string]any{"type": "text", "text": "x"}}}); err.Code != -32002 {
			t.Errorf("a prompt of %.30q is answered %v", id, err)
		}
	}
}

func TestASecondProcessIsToldWhichProcessHoldsTheSession(t *testing.T) {
	d := sit(t)
	id := d.New(d.dir)
	d.Say(id, "hello")
	second := newDesk(t)
	second.dir, second.home, second.env = d.dir, d.home, d.env
	second.start()
	second.Initialize(`{}`)
	err := second.Fail("session/load", map[string]any{"sessionId": id, "cwd": d.dir, "mcpServers": []any{}})
	if !strings.Contains(err.Message, strconv.Itoa(d.cmd.Process.Pid)) {
		t.Errorf("answered %v, want the process %d named", err, d.cmd.Process.Pid)
	}
	d.Say(id, "still here")
	d.kill()
	second.Load(id, d.dir)
	second.Say(id, "now it is mine")
	if text := acptest.Text(second.Updates(id), "user_message_chunk"); text != "hellostill here" {
		t.Errorf("it holds %q", text)
	}
}
