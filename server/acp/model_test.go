package acp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nimlet/agent/config"
	"nimlet/agent/model"
	"nimlet/internal/acptest"
	"nimlet/internal/modeltest"
	"nimlet/server"
)

// theirs has a session ask a scripted model server, as the provider "theirs" of the configuration.
func theirs(t *testing.T, d *desk, m *modeltest.Server) func(*server.Options) {
	t.Helper()
	if err := os.MkdirAll(string(d.home), 0o700); err != nil {
		t.Fatal(err)
	}
	settings := fmt.Sprintf(`{"default_provider":"theirs","default_model":"m1","providers":{"theirs":{"base_url":%q,"api_key":"{env:THEIR_KEY}"}},"models":[{"id":"m1","provider":"theirs","context_window":5000}]}`, m.URL())
	if err := os.WriteFile(d.home.ConfigFile(), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(o *server.Options) {
		o.Choice, o.Yolo = server.Choice{}, true
		o.Environ = append(os.Environ(), "THEIR_KEY="+modeltest.Key)
	}
}

// ask sits down at a desk whose answers come from m.
func ask(t *testing.T, m *modeltest.Server) (d *desk, again func(*server.Options)) {
	t.Helper()
	d = &desk{t: t, dir: folder(t)}
	d.home = config.Home(filepath.Join(folder(t), ".nimlet"))
	again = theirs(t, d, m)
	d.start(again)
	d.Initialize(`{}`)
	return d, again
}

func TestARealModelAnswersAndItsCallsAreRun(t *testing.T) {
	m := modeltest.New(t, model.OpenAI)
	m.Reply(modeltest.Text("I look."), modeltest.Call("read", `{"path":"a.txt"}`))
	m.Reply(modeltest.Text("It says alpha."), modeltest.Usage(1200, 30, 0, 0))
	d, _ := ask(t, m)
	d.write("a.txt", "alpha\n")
	id := d.New(d.dir)
	updates := d.Say(id, "what does a.txt say?")
	if text := acptest.Text(updates, "agent_message_chunk"); text != "I look.It says alpha." {
		t.Errorf("answered %q", text)
	}
	var used, size any
	for _, u := range updates {
		if u.Kind == "usage_update" {
			used, size = u.Body["used"], u.Body["size"]
		}
	}
	if used != 1230.0 || size != 5000.0 {
		t.Errorf("usage %v of %v", used, size)
	}
}

func TestAFailingModelIsAnErrorInItsOwnWords(t *testing.T) {
	m := modeltest.New(t, model.OpenAI)
	m.Reply(modeltest.Fail(401, `{"error":{"message":"Incorrect API key provided: `+modeltest.Key+`"}}`))
	m.Reply(modeltest.Text("better now"))
	d, _ := ask(t, m)
	id := d.New(d.dir)
	_, err := d.Prompt(id, "hello").Answer()
	if err == nil || !strings.Contains(err.Message, "Incorrect API key provided") || strings.Contains(err.Message, modeltest.Key) {
		t.Errorf("answered %v", err)
	}
	d.Say(id, "hello?")
}

func TestAProviderWithoutAKeyNamesTheVariable(t *testing.T) {
	d := sit(t, func(o *server.Options) {
		o.Choice, o.Environ = server.Choice{Provider: "anthropic"}, []string{"PATH=" + os.Getenv("PATH")}
	})
	d.Initialize(`{}`)
	_, err := d.Prompt(d.New(d.dir), "hello").Answer()
	if err == nil || !strings.Contains(err.Message, "ANTHROPIC_API_KEY") {
		t.Errorf("answered %v", err)
	}
}

func TestTheModelIsChosenByCommandAndOptionAndKeptInTheSession(t *testing.T) {
	m := modeltest.New(t, model.OpenAI)
	m.Reply(modeltest.Text("one"))
	m.Reply(modeltest.Text("two"))
	m.Reply(modeltest.Text("three"))
	d, again := ask(t, m)
	id := d.New(d.dir)
	d.Say(id, "first")
	d.Say(id, "/model m2")
	d.Say(id, "second")
	d.again(again)
	d.Initialize(`{}`)
	var r struct {
		ConfigOptions []struct{ ID, CurrentValue string }
	}
	d.Call("session/resume", map[string]any{"sessionId": id, "cwd": d.dir}, &r)
	if got := fmt.Sprint(r.ConfigOptions); !strings.Contains(got, "{model theirs/m2}") {
		t.Errorf("after a restart: %s", got)
	}
	d.Call("session/set_config_option", map[string]any{"sessionId": id, "configId": "model", "value": "theirs/m3"}, &r)
	if got := fmt.Sprint(r.ConfigOptions); !strings.Contains(got, "{model theirs/m3}") {
		t.Errorf("after a choice: %s", got)
	}
	d.Say(id, "third")
	var asked []string
	for _, request := range m.Requests() {
		asked = append(asked, fmt.Sprint(request.Body["model"]))
	}
	if got := strings.Join(asked, " "); got != "m1 m2 m3" {
		t.Errorf("asked %s", got)
	}
}

func TestWhatCannotBeChosenIsRefused(t *testing.T) {
	d := sit(t, nil)
	d.Initialize(`{}`)
	id := d.New(d.dir)
	for option, value := range map[string]string{"model": "nosuch/m", "thinking": "hard", "nosuch": "x"} {
		if err := d.Fail("session/set_config_option", map[string]any{"sessionId": id, "configId": option, "value": value}); err.Code != -32602 {
			t.Errorf("%s=%s: %v", option, value, err)
		}
	}
	d.Call("session/set_config_option", map[string]any{"sessionId": id, "configId": "model", "value": "automatic"}, nil)
	d.Call("session/set_config_option", map[string]any{"sessionId": id, "configId": "model", "value": "offline/offline"}, nil)
	d.Say(id, "hello")
}

func TestAKeyIsInTheRequestAndNowhereElse(t *testing.T) {
	m := modeltest.New(t, model.OpenAI)
	m.Reply(modeltest.Call("bash", `{"command":"env"}`))
	m.Reply(modeltest.Text("ok"))
	d, _ := ask(t, m)
	id := d.New(d.dir)
	updates := fmt.Sprint(d.Say(id, "print the environment"))
	if strings.Contains(updates, modeltest.Key) {
		t.Error("the editor was shown the key")
	}
	d.leave()
	err := filepath.WalkDir(string(d.home), func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), modeltest.Key) {
			t.Errorf("%s holds the key", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestWhatASessionCostIsToldAndAddsUpOverARestart(t *testing.T) {
	m := modeltest.New(t, model.OpenAI)
	for range 2 {
		m.Reply(modeltest.Text("ok"), modeltest.Usage(1_000_000, 100_000, 0, 0))
	}
	d, again := ask(t, m)
	settings := strings.Replace(d.settings(), `"context_window":5000`, `"context_window":5000,"price":{"input":2,"output":10}`, 1)
	d.inHome("config.json", settings)
	id := d.New(d.dir)
	d.Say(id, "one")
	d.again(again)
	d.Initialize(`{}`)
	d.Call("session/resume", map[string]any{"sessionId": id, "cwd": d.dir}, nil)
	var spent any
	for _, u := range d.Say(id, "two") {
		if u.Kind == "usage_update" {
			spent = u.Body["cost"].(map[string]any)["amount"]
		}
	}
	if spent != 6.0 {
		t.Errorf("two requests of 3 dollars cost %v", spent)
	}
	stats := acptest.Text(d.Say(id, "/stats"), "agent_message_chunk")
	for _, want := range []string{"messages: 2, model requests: 2", "2000000 in", "200000 out", "6.0000 US dollars"} {
		if !strings.Contains(stats, want) {
			t.Errorf("/stats lacks %q:\n%s", want, stats)
		}
	}
}

// settings is the user's config.json.
func (d *desk) settings() string {
	d.t.Helper()
	data, err := os.ReadFile(d.home.ConfigFile())
	if err != nil {
		d.t.Fatal(err)
	}
	return string(data)
}
