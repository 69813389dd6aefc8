package acp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nimlet/agent/model"
	"nimlet/internal/acptest"
	"nimlet/internal/modeltest"
)

// modelTold is all that the model was told in its last request.
func modelTold(m *modeltest.Server) string {
	requests := m.Requests()
	return fmt.Sprint(requests[len(requests)-1].Body["messages"])
}

// inHome writes a file of the user's.
func (d *desk) inHome(name, text string) {
	d.t.Helper()
	path := filepath.Join(string(d.home), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func TestInstructionsReachTheModelAndAreReadAgainWhenTheyChange(t *testing.T) {
	m := modeltest.New(t, model.OpenAI)
	for range 2 {
		m.Reply(modeltest.Text("ok"))
	}
	d, _ := ask(t, m)
	d.inHome("AGENTS.md", "Speak plainly.")
	d.write("AGENTS.md", "Use tabs.")
	id := d.New(d.dir)
	d.Say(id, "one")
	if all := modelTold(m); !strings.Contains(all, "Speak plainly.") || strings.Index(all, "Use tabs.") < strings.Index(all, "Speak plainly.") {
		t.Errorf("the model was told %s", all)
	}
	d.write("AGENTS.md", "Use spaces, two of them.")
	d.Say(id, "two")
	if all := modelTold(m); !strings.Contains(all, "Use spaces, two of them.") || strings.Contains(all, "Use tabs.") {
		t.Errorf("after a change the model was told %s", all)
	}
}

func TestInstructionsFurtherDownComeWithTheFirstFileReadThere(t *testing.T) {
	m := modeltest.New(t, model.OpenAI)
	for range 2 {
		m.Reply(modeltest.Call("read", `{"path":"sub/deep/a.txt"}`))
		m.Reply(modeltest.Text("ok"))
	}
	d, _ := ask(t, m)
	d.write("sub/AGENTS.md", "In sub, be quick.")
	d.write("sub/deep/a.txt", "alpha\n")
	id := d.New(d.dir)
	d.Say(id, "one")
	if all := modelTold(m); strings.Count(all, "In sub, be quick.") != 1 {
		t.Errorf("the model was told %s", all)
	}
	d.Say(id, "two")
	if all := modelTold(m); strings.Count(all, "In sub, be quick.") != 1 {
		t.Errorf("the second time the model was told %s", all)
	}
}

func TestATemplateAndASkillAreSentInPlaceOfTheirCommands(t *testing.T) {
	m := modeltest.New(t, model.OpenAI)
	for range 2 {
		m.Reply(modeltest.Text("ok"))
	}
	d, _ := ask(t, m)
	d.inHome("prompts/review.md", "---\ndescription: Review a file\n---\nReview $1 with care.")
	d.inHome("prompts/plan.md", "shadowed")
	d.inHome("skills/tests/SKILL.md", "---\nname: tests\ndescription: How tests are run\n---\nRun go test.")
	id := d.New(d.dir)
	commands := d.Await(func(u acptest.Update) bool { return u.Kind == "available_commands_update" })
	list := fmt.Sprint(commands.Body["availableCommands"])
	if !strings.Contains(list, "name:review") || !strings.Contains(list, "name:skill:tests") || strings.Count(list, "name:plan") != 1 {
		t.Errorf("offered %s", list)
	}
	updates := d.Say(id, "/Review a.go now")
	if all := modelTold(m); !strings.Contains(all, "Review a.go with care.") || strings.Contains(all, "/Review") {
		t.Errorf("the model was told %s", all)
	}
	if text := acptest.Text(updates, "agent_message_chunk"); !strings.Contains(text, "/plan is a command already") {
		t.Errorf("nothing was said of the template that is left out: %q", text)
	}
	d.Say(id, "/skill:tests in server")
	if all := modelTold(m); !strings.Contains(all, "Run go test.") || !strings.Contains(all, "in server") {
		t.Errorf("the model was told %s", all)
	}
}

func TestAnUntrustedProjectsTemplatesSkillsAndSystemPromptChangeNothing(t *testing.T) {
	m := modeltest.New(t, model.OpenAI)
	m.Reply(modeltest.Text("ok"))
	m.Reply(modeltest.Text("ok"))
	d, _ := ask(t, m)
	d.write(".nimlet/prompts/evil.md", "evil template")
	d.write(".agents/skills/evil/SKILL.md", "---\nname: evil\ndescription: evil skill\n---\nx")
	d.write(".nimlet/SYSTEM.md", "evil system prompt")
	id := d.New(d.dir)
	text := acptest.Text(d.Say(id, "/evil"), "agent_message_chunk")
	if !strings.Contains(text, "There is no command /evil") || !strings.Contains(text, "not trusted") {
		t.Errorf("answered %q", text)
	}
	d.Say(id, "hello")
	if all := modelTold(m); strings.Contains(all, "evil s") {
		t.Errorf("the model was told %s", all)
	}
	d.Say(id, "/trust on")
	d.Say(id, "/evil")
	if all := modelTold(m); !strings.Contains(all, "evil system prompt") || !strings.Contains(all, "evil skill") || !strings.Contains(all, "evil template") {
		t.Errorf("trusted, the model was told %s", all)
	}
}
