package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"nimlet/agent/model"
	"nimlet/session"
	"nimlet/tooling"
)

// aimockKey is the one key that the model server takes.
const aimockKey = "key-of-aimock"

// aimock starts a model server that others wrote (npm @copilotkit/aimock) with the answers of
// aimock/fixtures.json. It refuses wrong keys and whatever no fixture matches. It returns the
// address, and ends with the test.
func aimock(t *testing.T) string {
	t.Helper()
	kit := clients(t)
	fixtures, err := filepath.Abs(filepath.Join("aimock", "fixtures.json"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), hang) // until the cleanup
	heard := &announcement{address: make(chan string, 1)}
	program := filepath.Join(kit.dir, "node_modules", "@copilotkit", "aimock", "dist", "cli.js")
	c := exec.CommandContext(ctx, kit.node(t), program, "--port", "0", "--strict", "--validate-on-load", "--fixtures", fixtures)
	c.Env = append(os.Environ(), "AIMOCK_API_KEYS="+aimockKey)
	c.Stdout, c.Stderr = heard, heard
	if err := c.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Wait() // it is killed
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		if t.Failed() {
			t.Logf("aimock printed:\n%s", &heard.printed)
		}
	})
	select {
	case address := <-heard.address:
		return address
	case <-ended:
		t.Fatal("aimock did not start")
		return ""
	}
}

var listening = regexp.MustCompile(`listening on (http://\S+)`)

// An announcement takes what aimock prints, and tells where it listens.
type announcement struct {
	printed strings.Builder
	address chan string
	told    bool
}

func (a *announcement) Write(p []byte) (int, error) {
	a.printed.Write(p)
	if at := listening.FindStringSubmatch(a.printed.String()); at != nil && !a.told && strings.HasSuffix(a.printed.String(), "\n") {
		a.told = true
		a.address <- at[1]
	}
	return len(p), nil
}

// throughAimock runs a test with a model of each dialect behind one aimock.
func throughAimock(t *testing.T, test func(t *testing.T, e model.Endpoint)) {
	for _, d := range []model.Dialect{model.OpenAI, model.Anthropic} {
		t.Run(string(d), func(t *testing.T) {
			transport := &http.Transport{}
			t.Cleanup(transport.CloseIdleConnections)
			test(t, model.Endpoint{Name: "aimock", Dialect: d, BaseURL: aimock(t) + "/v1", Key: aimockKey,
				KeyHint: "use its key", Client: &http.Client{Transport: transport}})
		})
	}
}

// An answer is what came of one request.
type answer struct {
	text, thought string
	pieces        int // of the text
	parts         []session.Part
	calls         []session.ToolUse
	usage         model.Usage
	retries       int
	stop          model.Reason
	err           error
}

func ask(t *testing.T, e model.Endpoint, messages ...session.Message) (a answer) {
	t.Helper()
	m := model.New(e, "a-model", model.Abilities{Tools: true, Thinking: true})
	read := tooling.Spec{Name: "read", Description: "Reads a file.",
		Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)}
	for chunk, err := range m.Stream(t.Context(), model.Request{System: "Be brief.", Messages: messages, Tools: []tooling.Spec{read}}) {
		switch c := chunk.(type) {
		case model.Text:
			a.text, a.pieces = a.text+string(c), a.pieces+1
		case model.Thinking:
			a.thought += c.Text
			if c.Signature != "" {
				a.parts = append(a.parts, session.Thinking{Thinking: a.thought, Signature: c.Signature})
			}
		case model.ToolCall:
			a.calls = append(a.calls, session.ToolUse(c))
		case model.Usage:
			a.usage = c
		case model.Retrying:
			a.retries++
		case model.Stop:
			a.stop = c.Reason
		}
		a.err = err
	}
	if a.text != "" {
		a.parts = append(a.parts, session.Text{Text: a.text})
	}
	for _, c := range a.calls {
		a.parts = append(a.parts, c)
	}
	return a
}

func says(text string) session.Message {
	return session.Message{Role: session.RoleUser, Content: []session.Part{session.Text{Text: text}}}
}

func TestAimockAnswersInPiecesAndCountsTokens(t *testing.T) {
	throughAimock(t, func(t *testing.T, e model.Endpoint) {
		a := ask(t, e, says("greet"))
		if a.err != nil || a.text != "Grüße, 日本語 👩‍👩‍👧 and all the others who came here today." || a.pieces < 2 || a.stop != model.EndTurn {
			t.Errorf("%q in %d pieces, %q, %v", a.text, a.pieces, a.stop, a.err)
		}
		if a.usage.Input != 120 || a.usage.Output != 30 {
			t.Errorf("usage %+v", a.usage)
		}
	})
}

func TestAimockCallsToolsAndTakesTheirResults(t *testing.T) {
	throughAimock(t, func(t *testing.T, e model.Endpoint) {
		a := ask(t, e, says("look at it"))
		if a.err != nil || a.text != "I look." || a.thought != "The file will tell." || a.stop != model.ToolCalls || len(a.calls) != 2 {
			t.Fatalf("%+v", a)
		}
		var results []session.Part
		for i, want := range []string{"a.txt", "b.txt"} {
			c := a.calls[i]
			if c.Name != "read" || string(c.Input) != fmt.Sprintf(`{"path":%q}`, want) {
				t.Errorf("call %d is %s %s", i+1, c.Name, c.Input)
			}
			results = append(results, session.ToolOutput{ToolUseID: c.ID, Content: []string{"alpha", "gamma"}[i]})
		}
		a = ask(t, e, says("look at it"), session.Message{Role: session.RoleAssistant, Content: a.parts},
			session.Message{Role: session.RoleUser, Content: results})
		if a.err != nil || a.text != "They say alpha and gamma." || a.stop != model.EndTurn {
			t.Errorf("after the results: %+v", a)
		}
	})
}

func TestAimockRefusesInItsOwnWords(t *testing.T) {
	throughAimock(t, func(t *testing.T, e model.Endpoint) {
		for text, want := range map[string]struct {
			kind model.Kind
			says string
		}{"refuse": {model.BadRequest, "The fixture refuses this"}, "break off": {model.Broken, ""}} {
			var failure *model.Error
			if a := ask(t, e, says(text)); !errors.As(a.err, &failure) || failure.Kind != want.kind || !strings.Contains(failure.Message, want.says) || failure.Hint == "" {
				t.Errorf("%s: %+v", text, a)
			}
		}
		if a := ask(t, e, says("stumble")); a.err != nil || a.retries != 1 || a.text != "On my feet again." {
			t.Errorf("after a fault that passes: %+v", a)
		}
		e.Key = "another-key-altogether"
		var failure *model.Error
		if a := ask(t, e, says("greet")); !errors.As(a.err, &failure) || failure.Kind != model.Auth || !strings.Contains(a.err.Error(), "use its key") {
			t.Errorf("with a wrong key: %v", a.err)
		}
	})
}

// TestAcpxTalksToAimockThroughTheProgram has a client and a model server that others wrote meet in
// the real program, which finds the server in its configuration.
func TestAcpxTalksToAimockThroughTheProgram(t *testing.T) {
	for _, provider := range []string{"mock", "anthropic"} {
		t.Run(provider, func(t *testing.T) {
			s := sitAtShell(t)
			s.write("b.txt", "gamma\n")
			s.configure(map[string]any{"providers": map[string]any{provider: map[string]any{"base_url": aimock(t) + "/v1", "api_key": "{env:AIMOCK_KEY}"}}})
			s.environ = append(s.environ, "AIMOCK_KEY="+aimockKey)
			s.agent = append(s.agent, "--provider", provider, "--model", "a-model")
			r := s.acpx(0, "--approve-all", "exec", "look at it")
			for _, want := range []string{"I look.", "a.txt (completed)", "b.txt (completed)", "They say alpha and gamma."} {
				if !strings.Contains(r.stdout, want) {
					t.Errorf("%q is missing: %v", want, r)
				}
			}
			if r = s.call(nil, "--approve-all", "exec", "refuse"); r.status == 0 || !strings.Contains(r.stdout+r.stderr, "The fixture refuses this") {
				t.Errorf("a refusal: %v", r)
			}
		})
	}
}

// configure writes the settings of whoever sits here.
func (d *desk) configure(settings map[string]any) {
	d.t.Helper()
	data, err := json.Marshal(settings)
	if err != nil {
		d.t.Fatal(err)
	}
	folder := filepath.Join(d.home, ".nimlet")
	if err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, "config.json"), data, 0o600)); err != nil {
		d.t.Fatal(err)
	}
}
