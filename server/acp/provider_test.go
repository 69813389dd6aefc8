package acp_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nimlet/agent/config"
	"nimlet/agent/model"
	"nimlet/internal/acptest"
	"nimlet/internal/modeltest"
	"nimlet/server"
)

// A pair are two scripted model servers that one desk has the choice of: "theirs/m1", which speaks
// OpenAI's dialect, and "anthropic/claude-sonnet-5-5".
type pair struct{ theirs, anthropic *modeltest.Server }

const (
	theirModel     = "theirs/m1"
	anthropicModel = "anthropic/claude-sonnet-5-5"
)

// askPair sits down at a desk that starts with one of both; start is what starts it again.
func askPair(t *testing.T, provider string) (d *desk, p pair, start func(*server.Options)) {
	t.Helper()
	d = &desk{t: t, dir: folder(t), home: config.Home(filepath.Join(folder(t), ".nimlet"))}
	p = pair{modeltest.New(t, model.OpenAI), modeltest.New(t, model.Anthropic)}
	d.configure(fmt.Sprintf(`{"default_provider":%q,"agent":{"request_timeout":1},"providers":{
		"theirs":{"base_url":%q,"api_key":"{env:THEIR_KEY}"},
		"anthropic":{"base_url":%q,"api_key":"{env:THEIR_KEY}"}},
		"models":[{"id":"m1","provider":"theirs","context_window":5000}]}`, provider, p.theirs.URL(), p.anthropic.URL()))
	start = func(o *server.Options) {
		o.Choice, o.Yolo = server.Choice{}, true
		if provider == "theirs" {
			o.Choice.Model = "m1"
		}
		o.Environ = append(os.Environ(), "THEIR_KEY="+modeltest.Key)
	}
	d.start(start)
	d.Initialize(`{}`)
	return d, p, start
}

// eachProvider runs a test with a session that each of a pair answers.
func eachProvider(t *testing.T, test func(t *testing.T, d *desk, m *modeltest.Server)) {
	for _, provider := range []string{"theirs", "anthropic"} {
		t.Run(provider, func(t *testing.T) {
			d, p, _ := askPair(t, provider)
			test(t, d, map[string]*modeltest.Server{"theirs": p.theirs, "anthropic": p.anthropic}[provider])
		})
	}
}

// TestEveryFailureOfAProviderIsAnErrorInItsWords has each failure before and after the first word of
// an answer. A prompt follows that must work.
func TestEveryFailureOfAProviderIsAnErrorInItsWords(t *testing.T) {
	const sentence = "What the provider says"
	body := `{"error":{"message":"` + sentence + `."}}`
	half := modeltest.Text("half an answer")
	for name, c := range map[string]struct {
		reply []modeltest.Part
		want  string
	}{
		"401":            {[]modeltest.Part{modeltest.Fail(401, body)}, sentence},
		"403":            {[]modeltest.Part{modeltest.Fail(403, body)}, sentence},
		"429":            {[]modeltest.Part{modeltest.Fail(429, body, "Retry-After", "999")}, sentence},
		"500":            {[]modeltest.Part{modeltest.Fail(500, body, "Retry-After", "999")}, sentence},
		"too long":       {[]modeltest.Part{modeltest.Fail(400, `{"error":{"message":"prompt is too long: `+sentence+`"}}`)}, "larger"},
		"error in midst": {[]modeltest.Part{half, modeltest.ErrorEvent("overloaded_error", sentence)}, sentence},
		"cut":            {[]modeltest.Part{half, modeltest.HangUp()}, "cut before the answer was complete"},
		"no end":         {[]modeltest.Part{half, modeltest.NoEnd()}, "before the answer was complete"},
		"silence":        {[]modeltest.Part{half, modeltest.Stall()}, "it sent nothing for 1s"},
		"nothing said":   {[]modeltest.Part{modeltest.Text("")}, "answer"},
	} {
		t.Run(name, func(t *testing.T) {
			eachProvider(t, func(t *testing.T, d *desk, m *modeltest.Server) {
				id := d.New(d.dir)
				m.Reply(c.reply...)
				result, err := d.Prompt(id, "hello").Answer()
				if err == nil || !strings.Contains(err.Message, c.want) || !strings.Contains(err.Message, "; ") {
					t.Errorf("answered %s, %v; want an error with %q and what to do", result, err, c.want)
				}
				m.Reply(modeltest.Text("now it works"))
				if text := acptest.Text(d.Say(id, "hello?"), "agent_message_chunk"); text != "now it works" {
					t.Errorf("then answered %q", text)
				}
				for _, content := range d.storedAnswers(id) {
					if len(content) == 0 || strings.Contains(string(content[0]), `"text":""`) {
						t.Errorf("an empty answer was stored: %s", content)
					}
				}
			})
		})
	}
}

// storedAnswers returns the content of each answer in the file of a session.
func (d *desk) storedAnswers(id string) (answers [][]json.RawMessage) {
	d.t.Helper()
	for _, text := range d.storedSession(id) {
		for line := range strings.Lines(text) {
			var entry struct {
				Type    string
				Content []json.RawMessage
			}
			if json.Unmarshal([]byte(line), &entry) == nil && entry.Type == "assistant" {
				answers = append(answers, entry.Content)
			}
		}
	}
	if len(answers) == 0 {
		d.t.Error("no answer was stored")
	}
	return answers
}

// TestEveryAdvertisedKindOfContentReachesTheProvider looks for each in what was sent to the provider.
func TestEveryAdvertisedKindOfContentReachesTheProvider(t *testing.T) {
	eachProvider(t, func(t *testing.T, d *desk, m *modeltest.Server) {
		id := d.New(d.dir)
		m.Reply(modeltest.Text("I see."))
		d.sendBlocks(id,
			block("type", "text", "text", "what is all this?"),
			block("type", "image", "mimeType", "image/gif", "data", pixel),
			block("type", "resource", "resource", block("uri", "file:///tmp/b.gif", "mimeType", "image/gif", "blob", pixel)),
			block("type", "resource", "resource", block("uri", "file:///tmp/notes.txt", "text", "words of a note")),
			block("type", "resource", "resource", block("uri", "file:///tmp/a.bin", "mimeType", "application/x-thing", "blob", base64.StdEncoding.EncodeToString([]byte("\x00\x01")))),
			block("type", "resource_link", "uri", "file:///tmp/linked.go", "name", "linked.go"))
		images, words := 0, ""
		for _, p := range m.Requests()[0].Pieces {
			switch p.Kind {
			case "image":
				images++
			case "text":
				words += p.Text + "\n"
			}
		}
		if images != 2 || strings.Count(string(m.Requests()[0].Raw), pixel) != 2 {
			t.Errorf("%d pictures were sent, want 2", images)
		}
		for _, want := range []string{"what is all this?", "notes.txt", "words of a note", "a.bin", "linked.go"} {
			if !strings.Contains(words, want) {
				t.Errorf("%q was not sent: %s", want, words)
			}
		}
	})
}

func TestCharactersSurviveFromTheProviderToTheEditorAndBack(t *testing.T) {
	const awkward = "Grüße, 日本語 und 👩‍👩‍👧 – 𝔘 end"
	eachProvider(t, func(t *testing.T, d *desk, m *modeltest.Server) {
		d.write("a.txt", awkward+"\n")
		id := d.New(d.dir)
		m.Reply(modeltest.Think(awkward, "sig"), modeltest.Text(awkward), modeltest.Call("bash", `{"command":"cat a.txt; echo `+awkward+`"}`), modeltest.OneByte())
		m.Reply(modeltest.Text(awkward), modeltest.OneByte(), modeltest.CRLF())
		updates := d.Say(id, awkward)
		if text := acptest.Text(updates, "agent_message_chunk"); text != awkward+awkward {
			t.Errorf("answered %q", text)
		}
		if text := acptest.Text(updates, "agent_thought_chunk"); text != awkward {
			t.Errorf("thought %q", text)
		}
		pieces := m.Requests()[1].Pieces
		if said := pieces[0].Text; said != awkward {
			t.Errorf("the prompt was sent as %q", said)
		}
		if result := pieces[len(pieces)-1]; result.Kind != "result" || strings.Count(result.Text, awkward) != 2 {
			t.Errorf("the result was sent as %+v", result)
		}
	})
}

// TestCharactersSurviveACommandThatPrintsTheirBytesApart has long pauses in the middle of characters,
// so that what is shown meanwhile ends there.
func TestCharactersSurviveACommandThatPrintsTheirBytesApart(t *testing.T) {
	const want = "日👩"
	var script strings.Builder
	for _, b := range []byte(want) {
		fmt.Fprintf(&script, `printf '\%03o'; sleep 0.15; `, b)
	}
	for name, c := range map[string]struct {
		capabilities string
		shown        func([]acptest.Update) string
	}{
		"as a card": {`{}`, func(updates []acptest.Update) string { return fmt.Sprint(closing(updates)[0].Body["content"]) }},
		"as a terminal": {`{"_meta":{"terminal_output":true}}`, func(updates []acptest.Update) string {
			_, data, _ := terminal(updates)
			return data
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d, id := ready(t, c.capabilities, yolo)
			updates := d.Say(id, "bash "+script.String())
			if text := acptest.Text(updates, "agent_message_chunk"); !strings.Contains(text, want) {
				t.Errorf("the model was told %q", text)
			}
			if shown := c.shown(updates); !strings.Contains(shown, want) {
				t.Errorf("shown %q", shown)
			}
			for _, u := range updates {
				if body := fmt.Sprint(u.Body); strings.Contains(body, "\uFFFD") {
					t.Errorf("a character was shown in halves: %s", body)
				}
			}
		})
	}
}

// TestAConversationSurvivesResumeAndASwitchOfProvider goes to and fro between both dialects and over
// restarts, with thoughts, calls, and pictures in prompts and results. The servers check what they
// are sent: that calls and results pair, that thoughts are their own, that what was said before is
// repeated as it was.
func TestAConversationSurvivesResumeAndASwitchOfProvider(t *testing.T) {
	d, p, start := askPair(t, "theirs")
	raw, err := base64.StdEncoding.DecodeString(pixel)
	if err != nil {
		t.Fatal(err)
	}
	d.write("a.txt", "alpha\n")
	d.write("pixel.gif", string(raw))
	id := d.New(d.dir)
	resume := func() {
		t.Helper()
		d.again(start)
		d.Initialize(`{}`)
		d.Call("session/resume", map[string]any{"sessionId": id, "cwd": d.dir}, nil)
	}
	turn := func(m *modeltest.Server, text, signature string) {
		t.Helper()
		m.Reply(modeltest.Think("about "+text, signature), modeltest.Text("I look."),
			modeltest.Call("read", `{"path":"a.txt"}`), modeltest.Call("read", `{"path":"pixel.gif"}`), modeltest.Call("read", `{"path":"gone.txt"}`))
		m.Reply(modeltest.Think("what I saw", signature+"'"), modeltest.Text("Done with "+text+"."))
		updates := d.sendBlocks(id, block("type", "text", "text", text), block("type", "image", "mimeType", "image/gif", "data", pixel))
		if said := acptest.Text(updates, "agent_message_chunk"); said != "I look.Done with "+text+"." {
			t.Errorf("answered %q", said)
		}
	}
	turn(p.theirs, "one", "t1")
	d.Call("session/set_config_option", map[string]any{"sessionId": id, "configId": "thinking", "value": "medium"}, nil)
	d.Call("session/set_config_option", map[string]any{"sessionId": id, "configId": "model", "value": anthropicModel}, nil)
	turn(p.anthropic, "two", "a1")
	resume() // still Anthropic's, as the session remembers
	turn(p.anthropic, "three", "a2")
	d.Say(id, "/model "+theirModel)
	turn(p.theirs, "four", "t2")
	resume()
	turn(p.theirs, "five", "t3")
	d.Say(id, "/model "+anthropicModel)
	turn(p.anthropic, "six", "a3")

	requests := p.anthropic.Requests()
	last := requests[len(requests)-1].Pieces
	for kind, want := range map[string]int{"call": 18, "result": 18, "image": 6, "result image": 6} {
		if got := count(last, func(q modeltest.Piece) bool { return q.Kind == kind }); got != want {
			t.Errorf("the last request has %d of %s, want %d", got, kind, want)
		}
	}
	for _, text := range []string{"one", "two", "three", "four", "five", "six"} {
		if !slices.ContainsFunc(last, func(q modeltest.Piece) bool { return q.Kind == "text" && strings.Contains(q.Text, text) }) {
			t.Errorf("the last request lacks %q", text)
		}
	}
	if own := count(last, func(q modeltest.Piece) bool { return q.Kind == "thinking" && strings.Contains(q.Text, "about two") }); own != 1 {
		t.Error("a thought of Anthropic's own did not come back to it")
	}
}

func count(pieces []modeltest.Piece, is func(modeltest.Piece) bool) (n int) {
	for _, p := range pieces {
		if is(p) {
			n++
		}
	}
	return n
}
