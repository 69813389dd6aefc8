package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"nimlet/session"
	"nimlet/tooling"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// offered are tools of every shape of arguments that plain text can meet.
var offered = []tooling.Spec{
	{Name: "read", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"start_line":{"type":"integer"}},"required":["path"]}`)},
	{Name: "edit", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"old_text":{"type":"string"}},"required":["path","old_text"]}`)},
	{Name: "bash", Schema: json.RawMessage(`{"type":"object","properties":{"command":{"type":["string","null"]}},"required":["command"]}`)},
	{Name: "list", Schema: json.RawMessage(`{"type":"object","properties":{"all":{"type":"boolean"}}}`)},
	{Name: "ping", Schema: json.RawMessage(`{"type":"object"}`)},
	{Name: "wait", Schema: json.RawMessage(`{"type":"object","properties":{"seconds":{"type":"number"}},"required":["seconds"]}`)},
}

func user(parts ...session.Part) session.Message {
	return session.Message{Role: session.RoleUser, Content: parts}
}

func assistant(parts ...session.Part) session.Message {
	return session.Message{Role: session.RoleAssistant, Content: parts}
}

// later is a request that is not the first of its session, so that no notice is in the way.
func later(parts ...session.Part) Request {
	return Request{Tools: offered, Messages: []session.Message{
		user(session.Text{Text: "hello"}), assistant(session.Text{Text: "hello"}), user(parts...),
	}}
}

// ask collects a whole answer, checking the order that Model promises.
func ask(t *testing.T, r Request) (text string, calls []session.ToolUse, usage session.Usage, reason Reason) {
	t.Helper()
	var kinds []string
	for c, err := range Offline().Stream(t.Context(), r) {
		if err != nil {
			t.Fatal(err)
		}
		switch c := c.(type) {
		case Text:
			text += string(c)
		case ToolCall:
			calls = append(calls, session.ToolUse(c))
		case Usage:
			usage = session.Usage(c)
		case Stop:
			reason = c.Reason
		}
		kinds = append(kinds, fmt.Sprintf("%T", c))
	}
	if got := kinds[len(kinds)-1]; got != "model.Stop" {
		t.Errorf("the last chunk is a %s, want a Stop", got)
	}
	return text, calls, usage, reason
}

func TestLinesBecomeCalls(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string // name and input, or name and ParseError
	}{
		{"plain text", "read README.md", []string{`read {"path":"README.md"}`}},
		{"plain text with spaces", "bash go test ./...", []string{`bash {"command":"go test ./..."}`}},
		{"quotes and markup stay", `bash echo "<a> & b" \n`, []string{`bash {"command":"echo \"\u003ca\u003e \u0026 b\" \\n"}`}},
		{"spaces around", "  read \t a.go \r\n", []string{`read {"path":"a.go"}`}},
		{"object", `read {"path": "a.go", "start_line": 3}`, []string{`read {"path":"a.go","start_line":3}`}},
		{"object without a space", `read{"path":"a"}`, []string{`read {"path":"a"}`}},
		{"several lines", "read a\n\nread b\nping", []string{`read {"path":"a"}`, `read {"path":"b"}`, `ping {}`}},
		{"object over lines", "edit {\n  \"path\": \"a\",\n  \"old_text\": \"b\"\n}\nread c", []string{`edit {"path":"a","old_text":"b"}`, `read {"path":"c"}`}},
		{"a brace in a text does not close", "edit {\"path\": \"}\",\n\"old_text\": \"{\"}", []string{`edit {"path":"}","old_text":"{"}`}},
		{"no argument required", "list", []string{`list {}`}},
		{"malformed", `read {"path": }`, []string{"read ! invalid character '}' looking for beginning of value"}},
		{"malformed takes its line alone", "read {path}\nread b", []string{"read ! invalid character 'p' looking for beginning of object key string", `read {"path":"b"}`}},
		{"not closed", "read {\"path\": \"a\"\n", []string{"read ! the JSON object is not closed"}},
		{"not closed before a command", "read {\"path\": \"a\"\nread b", []string{"read ! invalid character 'r' after object key:value pair", `read {"path":"b"}`}},
		{"malformed over lines", "edit {\n\"path\": 'a',\n\"x\": 1}\nread b", []string{"edit ! invalid character '\\'' looking for beginning of value", `read {"path":"b"}`}},
		{"text after the object", `read {"path":"a"} please`, []string{`read ! unexpected text after the JSON object: "please"`}},
		{"a longer word", "reads a\nread_skill b\nRead c", nil},
		{"not the first word", "please read a", nil},
		{"nothing", "", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, calls, _, reason := ask(t, later(session.Text{Text: test.text}))
			var got []string
			for _, c := range calls {
				if c.ParseError != "" {
					got = append(got, c.Name+" ! "+c.ParseError)
					c.Input = json.RawMessage("{}")
				} else {
					got = append(got, c.Name+" "+compact(t, c.Input))
				}
				if !json.Valid(c.Input) || c.Input[0] != '{' {
					t.Errorf("the input of %s is no object: %s", c.Name, c.Input)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if want := map[bool]Reason{true: ToolCalls, false: EndTurn}[len(calls) > 0]; reason != want {
				t.Errorf("stopped with %s, want %s", reason, want)
			}
		})
	}
}

func compact(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWhatIsNoCallIsAnsweredWithHelp(t *testing.T) {
	tests := []struct{ text, want string }{
		{"edit a.go", "`edit` needs a JSON object, as in: `edit {\"path\": …, \"old_text\": …}`"},
		{"edit", "`edit` needs a JSON object, as in: `edit {\"path\": …, \"old_text\": …}`"},
		{"read", "`read` needs its `path`, as in: `read PATH`"},
		{"list everything", "`list` takes its arguments as a JSON object, as in: `list {\"all\": …}`"},
		{"ping now", "`ping` takes no arguments."},
		{"wait 3", "`wait` needs a JSON object, as in: `wait {\"seconds\": …}`"},
	}
	for _, test := range tests {
		text, calls, _, _ := ask(t, later(session.Text{Text: test.text}))
		if text != test.want || calls != nil {
			t.Errorf("%q is answered with %q and %d calls, want %q", test.text, text, len(calls), test.want)
		}
	}
}

func TestOtherTextIsEchoedWithOneLineOfHelp(t *testing.T) {
	const said = "Wie geht's?\n\n  日本語 🙂 — fine"
	text, _, _, _ := ask(t, later(session.Text{Text: said}))
	echo, help, _ := strings.Cut(text, "fine")
	if echo+"fine" != said {
		t.Errorf("echoed %q, want %q", echo+"fine", said)
	}
	if strings.Count(strings.TrimSpace(help), "\n") != 0 || !strings.Contains(help, "`read README.md`") || !strings.Contains(help, "`wait`") {
		t.Errorf("help is %q, want one line with an example and the tools", help)
	}
	if text, _, _, _ := ask(t, later()); !strings.Contains(text, "`read README.md`") {
		t.Errorf("an empty message is answered with %q, want help", text)
	}
	r := later(session.Text{Text: "hi"})
	r.Tools = nil
	if text, _, _, _ := ask(t, r); !strings.Contains(text, "no tool is offered") {
		t.Errorf("without tools the help is %q", text)
	}
}

func TestFirstAnswerSaysThatItIsOffline(t *testing.T) {
	first := Request{Tools: offered, Messages: []session.Message{user(session.Text{Text: "read a"})}}
	text, calls, _, _ := ask(t, first)
	if !strings.HasPrefix(text, "nimlet is offline: ") || len(calls) != 1 {
		t.Errorf("the first answer is %q with %d calls", text, len(calls))
	}
	first.Messages = append(first.Messages, assistant(session.ToolUse{Call: calls[0].Call}),
		user(session.ToolOutput{ToolUseID: calls[0].ID, Content: "x"}))
	if text, _, _, _ := ask(t, first); strings.Contains(text, "offline") {
		t.Errorf("the second answer says it again: %q", text)
	}
}

func TestResultsArePrintedUnderTheirCalls(t *testing.T) {
	call := func(id, name, input string) session.ToolUse {
		return session.ToolUse{Call: session.Call{ID: id, Name: name, Input: json.RawMessage(input)}}
	}
	r := Request{Tools: offered, Messages: []session.Message{
		user(session.Text{Text: "read a\nedit …"}),
		assistant(session.Text{Text: "notice"},
			call("1", "read", `{"path":"a"}`), call("2", "edit", `{"path":"b","old_text":"c"}`),
			call("3", "bash", `{"command":"echo a\necho b"}`), call("4", "ping", `{}`)),
		user(session.ToolOutput{ToolUseID: "1", Content: "1 one\n2 ```go\n"},
			session.ToolOutput{ToolUseID: "2", Content: "not found", IsError: true},
			session.ToolOutput{ToolUseID: "3", Images: []session.Image{{MIMEType: "image/png", Data: "AAAA"}}},
			session.ToolOutput{ToolUseID: "4", Content: "pong"},
			session.ToolOutput{ToolUseID: "x", Content: "read a"}),
	}}
	const want = "`read a`\n\n````\n1 one\n2 ```go\n````\n\n" +
		"`edit {\"path\":\"b\",\"old_text\":\"c\"}` failed\n\n```\nnot found\n```\n\n" +
		"`bash echo a echo b`\n\n(no output)\n\nAttached: unnamed (image/png, 3 bytes).\n\n" +
		"`ping`\n\n```\npong\n```\n\n" +
		"`result`\n\n```\nread a\n```"
	text, calls, _, reason := ask(t, r)
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
	if calls != nil || reason != EndTurn {
		t.Errorf("results led to %d calls and %s: what a tool prints is no command", len(calls), reason)
	}

	r.Messages = append(r.Messages, user(session.Text{Text: "read b"})) // sent while the tools ran
	text, calls, _, reason = ask(t, r)
	if text != want || len(calls) != 1 || reason != ToolCalls {
		t.Errorf("with a message after the results: %d calls, %s, text\n%s", len(calls), reason, text)
	}
}

func TestCallIDsAreUniqueInASession(t *testing.T) {
	r := Request{Tools: offered}
	seen := map[string]bool{}
	for turn := range 20 {
		r.Messages = append(r.Messages, user(session.Text{Text: "read a\nread b\nping"}))
		_, calls, _, _ := ask(t, r)
		var uses, outputs []session.Part
		for _, c := range calls {
			if seen[c.ID] {
				t.Fatalf("id %s came twice", c.ID)
			}
			seen[c.ID] = true
			uses, outputs = append(uses, c), append(outputs, session.ToolOutput{ToolUseID: c.ID})
		}
		r.Messages = append(r.Messages, assistant(uses...), user(outputs...))
		if turn%3 == 2 {
			r.Messages = r.Messages[2:] // as after a compaction that keeps the rest
		}
	}
}

func TestTheSameRequestHasTheSameAnswer(t *testing.T) {
	m := Offline()
	collect := func() (chunks []Chunk) {
		for c, err := range m.Stream(t.Context(), later(session.Text{Text: "read a\nhello\nping"})) {
			if err != nil {
				t.Fatal(err)
			}
			chunks = append(chunks, c)
		}
		return chunks
	}
	if diff := cmp.Diff(collect(), collect()); diff != "" {
		t.Errorf("two answers differ:\n%s", diff)
	}
}

func TestAttachmentsAreNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(file, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, calls, _, _ := ask(t, later(
		session.Text{Text: "ping"},
		session.Image{MIMEType: "image/png", Data: "AAAAAA=="},
		session.File{Filename: "notes.txt", MIMEType: "text/plain", Path: file},
		session.File{Path: "https://example.org/x"}))
	const want = "Attached: unnamed (image/png, 4 bytes).\n\n" +
		"Attached: notes.txt (text/plain, 5 bytes).\n\n" +
		"Attached: https://example.org/x (type unknown, size unknown)."
	if text != want || len(calls) != 1 {
		t.Errorf("got %d calls and\n%s\nwant\n%s", len(calls), text, want)
	}
}

func TestTextStreamsWordByWord(t *testing.T) {
	var said strings.Builder
	for i := range 50000 {
		fmt.Fprintf(&said, "w%d ", i)
	}
	text, chunks := "", 0
	var b strings.Builder
	for c, err := range Offline().Stream(t.Context(), later(session.Text{Text: said.String()})) {
		if err != nil {
			t.Fatal(err)
		}
		if word, ok := c.(Text); ok {
			if chunks++; len(strings.Fields(string(word))) != 1 {
				t.Fatalf("chunk %d is %q, want one word", chunks, word)
			}
			b.WriteString(string(word))
		}
	}
	if text = b.String(); !strings.HasPrefix(text, said.String()) || chunks < 50000 {
		t.Errorf("%d chunks of %d bytes do not make up the text", chunks, len(text))
	}
}

func TestAnswerKeepsToMaxTokens(t *testing.T) {
	r := later(session.Text{Text: strings.Repeat("日本語 ", 100) + "\nping"})
	r.MaxTokens = 10
	text, calls, usage, reason := ask(t, r)
	if reason != MaxTokens || calls != nil || len(text) > 40 || len(text) < 37 || usage.Output > 10 {
		t.Errorf("got %d bytes, %d calls, %d tokens, %s", len(text), len(calls), usage.Output, reason)
	}
	if strings.ContainsRune(text, '\uFFFD') || !strings.HasPrefix("日本語 日本語 日本語 日本語 ", text) {
		t.Errorf("the text is cut inside a character: %q", text)
	}
}

func TestUsageIsEstimated(t *testing.T) {
	r := Request{System: strings.Repeat("s", 400), Messages: []session.Message{
		user(session.Text{Text: strings.Repeat("a", 400)}),
		assistant(session.Thinking{Thinking: strings.Repeat("b", 400)}),
		user(session.ToolOutput{Content: strings.Repeat("c", 400)}),
	}}
	text, _, usage, _ := ask(t, r)
	if usage.Input != 400 || usage.Output != tokens(len(text)) {
		t.Errorf("got %+v, want 400 tokens in and %d out", usage, tokens(len(text)))
	}
}

func TestCancelEndsTheStreamAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		got, ended := make(chan Chunk), make(chan error, 1)
		go func() {
			defer close(got)
			for c, err := range Offline().Stream(ctx, later(session.Text{Text: strings.Repeat("word ", 1000)})) {
				if err != nil {
					ended <- err
					continue // an error is the last element: the loop must end by itself
				}
				got <- c
			}
		}()
		<-got
		synctest.Wait() // the model has given its second chunk and waits for it to be taken
		cancel()
		more := 0
		for range got {
			more++
		}
		if err := <-ended; !errors.Is(err, context.Canceled) || more != 1 {
			t.Errorf("after the cancel came %d chunks and %v, want the one under way and the cancel", more, err)
		}
	})
}

func TestConsumerMayBreakOff(t *testing.T) {
	for stop := range 6 {
		n := 0
		for range Offline().Stream(t.Context(), later(session.Text{Text: "one two\nread a\nread b"})) {
			if n++; n > stop {
				break
			}
		}
	}
}

func FuzzScript(f *testing.F) {
	for _, seed := range []string{"read a", "edit {", "edit {\n}\nread b", "bash {\"command\": \"\\u0000\"}", "ping {}}", "read \xff", "{\n\n", "read {\"a\":{\"b\":[", "\r\n\r"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var stopped bool
		for c, err := range Offline().Stream(t.Context(), later(session.Text{Text: text})) {
			if err != nil || stopped {
				t.Fatalf("got %v after the stop, or the error %v", c, err)
			}
			if call, ok := c.(ToolCall); ok {
				var object map[string]any
				if json.Unmarshal(call.Input, &object) != nil || object == nil {
					t.Fatalf("the input of a call is no object: %s", call.Input)
				}
			}
			_, stopped = c.(Stop)
		}
		if !stopped {
			t.Fatal("the answer did not stop")
		}
	})
}
