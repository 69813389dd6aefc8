package session

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// Every type of the table "Session entries", with and without what is optional, as it stands in
// a file.
var codecTable = []struct {
	name  string
	event Event
	line  string
}{
	{"user", User{[]Part{Text{"hi <b> & é"}}}, `{"type":"user","role":"user","content":[{"type":"text","text":"hi <b> & é"}]}`},
	{"user without content", User{[]Part{}}, `{"type":"user","role":"user","content":[]}`},
	{"attachments", User{[]Part{
		Image{MIMEType: "image/png", Path: "/a.png"}, Image{MIMEType: "image/png", Data: "AAAA"},
		File{MIMEType: "text/plain", Path: "/a.txt"}, File{MIMEType: "text/plain", Data: "AAAA", Filename: "a.txt"},
		ToolOutput{ToolUseID: "1", Content: "out", IsError: true, Images: []Image{{MIMEType: "image/gif", Data: "AA"}}},
	}}, `{"type":"user","role":"user","content":[` +
		`{"type":"image","mimeType":"image/png","path":"/a.png"},{"type":"image","mimeType":"image/png","data":"AAAA"},` +
		`{"type":"file","mimeType":"text/plain","path":"/a.txt"},{"type":"file","mimeType":"text/plain","data":"AAAA","filename":"a.txt"},` +
		`{"type":"tool_result","tool_use_id":"1","content":"out","is_error":true,"images":[{"type":"image","mimeType":"image/gif","data":"AA"}]}]}`},
	{"assistant", Assistant{Content: []Part{
		Thinking{"hm", "sig"}, Text{"so"},
		ToolUse{Call: Call{"1", "read", json.RawMessage(`{"path":"a"}`)}},
		ToolUse{Call: Call{"2", "x", json.RawMessage(`{}`)}, ParseError: "bad", Hosted: true, ThoughtSignature: "ts"},
		Source{URL: "u", Title: "t"}, Source{URL: "u", Title: "t", ID: "i", CitedText: "c", Raw: json.RawMessage(`[1]`)},
	}, Model: "m", Provider: "p", RequestedModel: "r", Usage: &Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Thinking: 5}}, `{"type":"assistant","role":"assistant","content":[` +
		`{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"text","text":"so"},` +
		`{"type":"tool_use","id":"1","name":"read","input":{"path":"a"}},` +
		`{"type":"tool_use","id":"2","name":"x","input":{},"parse_error":"bad","hosted":true,"thought_signature":"ts"},` +
		`{"type":"source","url":"u","title":"t"},{"type":"source","url":"u","title":"t","id":"i","cited_text":"c","raw":[1]}],` +
		`"model":"m","provider":"p","requested_model":"r","usage":{"input":1,"output":2,"cache_read":3,"cache_write":4,"thinking":5}}`},
	{"assistant without what is optional", Assistant{Content: []Part{Text{""}}}, `{"type":"assistant","role":"assistant","content":[{"type":"text","text":""}]}`},
	{"tool result", ToolResult{ID: "1", Output: "o"}, `{"type":"tool_result","id":"1","output":"o","is_error":false}`},
	{"tool result with an image", ToolResult{ID: "1", IsError: true, Images: []Image{{MIMEType: "image/png", Path: "/a"}}},
		`{"type":"tool_result","id":"1","output":"","is_error":true,"images":[{"type":"image","mimeType":"image/png","path":"/a"}]}`},
	{"compaction", Compaction{"s", 96, 1000, nil}, `{"type":"compaction","summary":"s","first_kept_index":96,"tokens_before":1000}`},
	{"compaction with details", Compaction{"s", 0, 0, json.RawMessage(`{"source":"my-extension"}`)},
		`{"type":"compaction","summary":"s","first_kept_index":0,"tokens_before":0,"details":{"source":"my-extension"}}`},
	{"extension", Extension{"notes", json.RawMessage(`{"completed":["research"]}`)}, `{"type":"extension","extension":"notes","data":{"completed":["research"]}}`},
	{"mode", Mark{Mode: "plan"}.Event(), `{"type":"extension","extension":"nimlet","data":{"mode":"plan"}}`},
	{"name", Name{"n"}, `{"type":"name","name":"n"}`},
	{"selection", Selection{"p", "m"}, `{"type":"selection","provider":"p","model":"m"}`},
	{"unknown event", Unknown{json.RawMessage(`{"type":"branch", "at": 1.50}`)}, `{"type":"branch", "at": 1.50}`},
	{"unknown part", User{[]Part{UnknownPart{json.RawMessage(`{"type":"audio","data":1.50}`)}, Text{"x"}}},
		`{"type":"user","role":"user","content":[{"type":"audio","data":1.50},{"type":"text","text":"x"}]}`},
}

func TestEventsAreWrittenAsTheTableHasThem(t *testing.T) {
	for _, c := range codecTable {
		line, err := EncodeEvent(c.event)
		if err != nil || string(line) != c.line {
			t.Errorf("%s is written\n%s, %v; want\n%s", c.name, line, err, c.line)
		}
		if diff := cmp.Diff(c.event, DecodeEvent([]byte(c.line))); diff != "" {
			t.Errorf("%s is read wrongly (-want +got):\n%s", c.name, diff)
		}
		k, sure := sniff([]byte(c.line)[:min(len(c.line), headSize)])
		if !sure || k != kindOf(c.event) || k != kindWhole([]byte(" "+c.line)) {
			t.Errorf("%s: kind %d, %v from its head, %d from all of it, %d from the event", c.name, k, sure, kindWhole([]byte(c.line)), kindOf(c.event))
		}
	}
}

func TestWhatIsNotAsExpectedIsKept(t *testing.T) {
	for _, line := range []string{
		`{"type":"user","content":"just text"}`,
		`{"type":"user","content":{"type":"text"}}`,
		`{"type":"tool_result","id":7,"output":"x"}`,
		`{"type":"assistant","content":[],"usage":"much"}`,
		`{"type":"compaction","summary":"s","first_kept_index":"3"}`,
		`{"type":"name","name":null,"x":1,"name":{}}`,
		`{"type":7}`, `{"type":null}`, `{}`, `{"role":"user"}`,
		`{"type":"from-the-future","more":[1,2,{"a":null}]}`,
	} {
		if diff := cmp.Diff(Event(Unknown{json.RawMessage(line)}), DecodeEvent([]byte(line))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
	got := DecodeEvent([]byte(`{"content":[{"type":"text","text":5},null,{"text":"ok","type":"text"}],"type":"assistant","model":"m"}`))
	want := Assistant{Content: []Part{UnknownPart{json.RawMessage(`{"type":"text","text":5}`)}, UnknownPart{json.RawMessage(`null`)}, Text{"ok"}}, Model: "m"}
	if diff := cmp.Diff(Event(want), got); diff != "" {
		t.Errorf("one odd part (-want +got):\n%s", diff)
	}
}

func TestWhatIsNoJSONObjectIsDamaged(t *testing.T) {
	for _, line := range []string{"", " ", "\x00\x00", "[]", `"x"`, `{"type":"user"`, `{"type":"user"}}`, "null", `{"type":"us` + "\x00" + `er"}`} {
		if got := DecodeEvent([]byte(line)); !cmp.Equal(got, Event(Unknown{json.RawMessage(damagedRaw)})) {
			t.Errorf("%q is read as %#v", line, got)
		}
	}
}

func TestNoTextSplitsALine(t *testing.T) {
	for _, text := range []string{"a\nb", "a\rb", "a\r\nb", "a\u2028b\u2029c", "a\x00b", "\x1b[31m\x07", "\ufeffa", "a\u0085b\u000bc\u000cd"} {
		back := roundTrip(t, ToolResult{ID: "1", Output: text})
		if back != text {
			t.Errorf("%q came back as %q", text, back)
		}
	}
	if got, want := roundTrip(t, ToolResult{ID: "1", Output: "a\xff\xfeb\xe2\x80"}), "a\uFFFD\uFFFDb\uFFFD\uFFFD"; got != want {
		t.Errorf("bytes that are no UTF-8 came back as %q, want %q", got, want)
	}
	spread := ToolUse{Call: Call{ID: "1", Name: "x", Input: json.RawMessage("{\n \"a\":\r\n \"\u2028\xff\"}")}}
	line := oneEncoded(t, Assistant{Content: []Part{spread}})
	use := DecodeEvent(line).(Assistant).Content[0].(ToolUse)
	if got, want := string(use.Input), `{"a":"\u2028`+"\uFFFD"+`"}`; got != want {
		t.Errorf("raw input came back as %s, want %s", got, want)
	}
}

func TestAnUnknownEventOfSeveralLinesIsPutOnOne(t *testing.T) {
	for _, space := range []string{"\n", "\r", "\r\n\t"} {
		raw := `{"type":"new",` + space + `"a": 1.50}`
		if got, want := string(oneEncoded(t, Unknown{json.RawMessage(raw)})), `{"type":"new","a":1.50}`; got != want {
			t.Errorf("%q is written as %q, want %q", raw, got, want)
		}
	}
}

func TestArgumentsThatAreNoJSONAreKeptAsText(t *testing.T) {
	broken := ToolUse{Call: Call{ID: "1", Name: "x", Input: json.RawMessage("{\"a\": \n")}, ParseError: "unexpected end"}
	use := DecodeEvent(oneEncoded(t, Assistant{Content: []Part{broken}})).(Assistant).Content[0].(ToolUse)
	var text string
	must(t, json.Unmarshal(use.Input, &text))
	if text != "{\"a\": \n" || use.ParseError != broken.ParseError {
		t.Errorf("got %q, %q", text, use.ParseError)
	}
}

func TestAnEventThatCannotBeWrittenIsRefused(t *testing.T) {
	for _, e := range []Event{nil, Unknown{}, Unknown{json.RawMessage("{")}} {
		if line, err := EncodeEvent(e); err == nil {
			t.Errorf("%#v was written as %s", e, line)
		}
	}
}

func roundTrip(t *testing.T, r ToolResult) string {
	t.Helper()
	return DecodeEvent(oneEncoded(t, r)).(ToolResult).Output
}

// oneEncoded encodes e and checks that no reader can split the line.
func oneEncoded(t *testing.T, e Event) []byte {
	t.Helper()
	line, err := EncodeEvent(e)
	must(t, err)
	if !utf8.Valid(line) || strings.ContainsAny(string(line), "\n\r\x00\u2028\u2029") || !json.Valid(line) {
		t.Errorf("%q can be split", line)
	}
	return line
}

func TestHeadersOfOlderAndNewerWriters(t *testing.T) {
	for line, want := range map[string]Header{
		`{"type":"session","workspace":"/ws"}`: {Workspace: "/ws"},
		`{"workspace":"/ws","id":"7","type":"session","version":"one","created":5,"directories":["/d"]}`:        {ID: "7", Workspace: "/ws", Directories: []string{"/d"}},
		`{"type":"session","version":9,"id":"7","workspace":"/ws","parent":"3","created":"yesterday","new":[]}`: {ID: "7", Workspace: "/ws", Parent: "3", Version: 9},
	} {
		got, ok := decodeHeader([]byte(line))
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("%s: %v (-want +got):\n%s", line, ok, diff)
		}
	}
	if _, ok := decodeHeader([]byte(`{"type":"user"}`)); ok {
		t.Error("a user event was taken for a header")
	}
}
