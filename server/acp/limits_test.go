package acp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"nimlet/internal/acptest"
)

const (
	anyClient = 64 << 10 // what some clients read as one line
	zedLine   = 1<<20 + 4<<10
)

// mustFit checks that no line was longer than the limit and returns the longest.
func mustFit(t *testing.T, updates []acptest.Update, limit int) int {
	t.Helper()
	longest := 0
	for _, u := range updates {
		longest = max(longest, u.Line)
		if u.Line > limit {
			t.Errorf("a %s has %d bytes, want at most %d", u.Kind, u.Line, limit)
		}
		if text, err := json.Marshal(u.Body); err != nil || !utf8.Valid(text) {
			t.Errorf("a %s is no valid text", u.Kind)
		}
	}
	return longest
}

// big writes a long text into the workspace.
func (d *desk) big(name, line string, bytes int) {
	d.write(name, strings.Repeat(line, bytes/len(line)))
}

// texts that take more room as JSON than they seem to, or may be cut in the wrong place.
var texts = map[string]string{
	"lines":      "a line of plain text that goes on for a while\n",
	"one line":   "no newline in all of this ",
	"quotes":     `"\"\\`,
	"emoji":      "👩‍👩‍👧‍👦🏳️‍🌈",
	"Chinese":    "日本語テキスト",
	"controls":   "\x01\x02\x1b[31m\x7f",
	"separators": "a\u2028\u2029",
	"invalid":    "\xff\xfe\xc3",
	"html":       "<&>",
}

func TestNoLineIsTooLongForAnyClient(t *testing.T) {
	for name, text := range texts {
		t.Run("output of "+name, func(t *testing.T) {
			d, id := ready(t, `{}`, yolo)
			size := 1 << 20
			if strings.Contains(name, "line") {
				size = 10 << 20
			}
			d.big("big.txt", text, size)
			updates := d.Say(id, "bash cat big.txt")
			mustFit(t, updates, anyClient)
			if text := mustClose(t, updates, "completed"); len(text) < 6000 {
				t.Errorf("only %d bytes are shown", len(text))
			}
			start := len(d.Updates(id))
			d.Load(id, d.dir)
			mustFit(t, d.Updates(id)[start:], anyClient)
		})
	}
}

func TestLongAnswersAreCutIntoChunksThatGiveTheWhole(t *testing.T) {
	for name, text := range texts {
		if name == "invalid" { // JSON cannot carry it
			continue
		}
		t.Run(name, func(t *testing.T) {
			d, id := ready(t, `{}`, nil)
			long := strings.Repeat(text, 1<<20/len(text))
			updates := d.Say(id, long)
			mustFit(t, updates, anyClient)
			if got := acptest.Text(updates, "agent_message_chunk"); !strings.Contains(got, strings.Trim(long, "\n")) {
				t.Error("the echo is not whole")
			}
			d.again(nil)
			d.Initialize(`{}`)
			d.Load(id, d.dir)
			mustFit(t, d.Updates(id), anyClient)
			if got := acptest.Text(d.Updates(id), "user_message_chunk"); got != long {
				t.Errorf("the replayed prompt has %d bytes, want %d", len(got), len(long))
			}
			ids := map[string]bool{}
			for _, u := range d.Updates(id) {
				if u.Kind == "user_message_chunk" {
					ids[u.String("messageId")] = true
				}
			}
			if len(ids) != 1 {
				t.Errorf("the chunks of one message have %d ids", len(ids))
			}
		})
	}
}

func TestTheDiffOfALargeFileShowsWhatChanged(t *testing.T) {
	var b strings.Builder
	for i := 0; b.Len() < 5<<20; i++ {
		fmt.Fprintf(&b, "line %d of a large file\n", i)
	}
	d, id := ready(t, `{}`, nil)
	d.write("big.txt", b.String())
	updates := d.Say(id, `edit {"path": "big.txt", "old_text": "line 70000 of", "new_text": "LINE 70000 of"}`)
	mustFit(t, updates, anyClient)
	mustClose(t, updates, "completed")
	diff := firstDiff(closing(updates)[0])
	old, _ := diff["oldText"].(string)
	text, _ := diff["newText"].(string)
	if !strings.Contains(old, "\nline 70000 of") || !strings.Contains(text, "\nLINE 70000 of") || strings.Count(text, "\n") > 10 {
		t.Errorf("the change is shown as %v", diff)
	}
}

func firstDiff(u acptest.Update) map[string]any {
	list, _ := u.Body["content"].([]any)
	for _, item := range list {
		if c, _ := item.(map[string]any); c["type"] == "diff" {
			return c
		}
	}
	return nil
}

func TestTheDiffOfAChangeThatIsLargeItselfFits(t *testing.T) {
	d, id := ready(t, `{}`, nil)
	d.big("big.txt", "one line of many\n", 1<<20)
	d.big("wide.txt", "one line of no end ", 1<<20)
	for _, name := range []string{"big.txt", "wide.txt"} {
		content, err := json.Marshal(map[string]any{"path": name, "content": strings.Repeat("日本語\n", 50_000), "overwrite": true})
		if err != nil {
			t.Fatal(err)
		}
		updates := d.Say(id, "write "+string(content))
		mustFit(t, updates, anyClient)
		if text := mustClose(t, updates, "completed"); !strings.Contains(text, "too long") {
			t.Errorf("nothing says that something is left out: %q", text)
		}
	}
}

func TestAPermissionRequestFitsALine(t *testing.T) {
	d, id := ready(t, `{}`, nil)
	lengths := make(chan int, 10)
	d.On("session/request_permission", func(params jsonRaw) *acptest.Answer {
		lengths <- len(params)
		return chose("reject_once")
	})
	command, err := json.Marshal(map[string]string{"command": "echo " + strings.Repeat("'<&>' \x01日本語 ", 20_000)})
	if err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal(map[string]string{"path": "AGENTS.md", "content": strings.Repeat("<obey> 日本語\n", 50_000)})
	if err != nil {
		t.Fatal(err)
	}
	mustFit(t, d.Say(id, "bash "+string(command)), anyClient)
	mustFit(t, d.Say(id, "write "+string(content)), anyClient)
	if len(lengths) != 2 {
		t.Fatalf("asked %d times", len(lengths))
	}
	for range 2 {
		if n := <-lengths; n > anyClient {
			t.Errorf("a request has %d bytes", n)
		}
	}
}

func TestAQuestionFitsALine(t *testing.T) {
	for _, capabilities := range []string{`{}`, withForm} {
		d, id := ready(t, capabilities, nil)
		lengths := make(chan int, 10)
		d.On("session/request_permission", func(params jsonRaw) *acptest.Answer {
			lengths <- len(params)
			return chose("0")
		})
		d.On("elicitation/create", func(params jsonRaw) *acptest.Answer {
			lengths <- len(params)
			return accepted(map[string]any{"choice": "0"})
		})
		question, err := json.Marshal(map[string]any{
			"question": strings.Repeat("Why? ", 40_000), "options": []string{strings.Repeat("because ", 40_000), "no"},
		})
		if err != nil {
			t.Fatal(err)
		}
		mustFit(t, d.Say(id, "ask_user "+string(question)), anyClient)
		if n := <-lengths; n > anyClient {
			t.Errorf("%s: a question has %d bytes", capabilities, n)
		}
	}
}

func TestKnownClientsAndSettingsGetLongerLines(t *testing.T) {
	for name, c := range map[string]struct {
		client, settings string
		low, high        int // bounds of the longest line
	}{
		"unknown":    {"acme", `{}`, 40 << 10, anyClient},
		"zed":        {"zed", `{}`, 200 << 10, zedLine},
		"jetbrains":  {"JetBrains.IntelliJ", `{}`, 200 << 10, zedLine},
		"set lower":  {"zed", `{"acp": {"max_update_bytes": 20000}}`, 15_000, 24_000},
		"set higher": {"acme", `{"acp": {"max_update_bytes": 200000}}`, 150_000, 204_000},
	} {
		t.Run(name, func(t *testing.T) {
			d := sit(t, yolo)
			d.leave()
			d.configure(c.settings)
			d.start(yolo)
			d.Call("initialize", map[string]any{
				"protocolVersion": 1, "clientCapabilities": map[string]any{}, "clientInfo": map[string]any{"name": c.client, "version": "1"},
			}, nil)
			id := d.New(d.dir)
			d.big("a.txt", "one line of many\n", 300<<10)
			updates := d.Say(id, `edit {"path": "a.txt", "replacements": [{"old_text": "never", "new_text": "x"}]}`)
			content, err := json.Marshal(map[string]any{"path": "a.txt", "content": strings.Repeat("two\n", 80_000), "overwrite": true})
			if err != nil {
				t.Fatal(err)
			}
			updates = append(updates, d.Say(id, "write "+string(content))...)
			updates = append(updates, d.Say(id, strings.Repeat("a word ", 100_000))...)
			start := len(d.Updates(id))
			d.Load(id, d.dir)
			updates = append(updates, d.Updates(id)[start:]...)
			if longest := mustFit(t, updates, c.high); longest < c.low {
				t.Errorf("the longest line has %d bytes, want more than %d", longest, c.low)
			}
		})
	}
}
