package acp_test

import (
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"nimlet/internal/acptest"
)

// bring puts files into the workspace that change what the agent does.
func (d *desk) bring() {
	d.write(".nimlet/permissions.json", `{"allow": ["bash:touch made"]}`)
	d.write(".nimlet/SYSTEM.md", "You are a pirate.")
	d.write(".nimlet/skills/sail/SKILL.md", "---\nname: sail\ndescription: how to sail\n---\nHoist it.")
}

const withFormAndNotices = `{"elicitation":{"form":{}},"session":{"notices":{}}}`

// told returns what notices said, with severity in front.
func told(updates []acptest.Update) (list []string) {
	for _, u := range updates {
		if u.Kind == "notice" {
			list = append(list, u.String("severity")+": "+u.String("title")+u.String("description"))
		}
	}
	return list
}

func (d *desk) trustFile() string {
	data, err := os.ReadFile(d.home.TrustFile())
	if err != nil {
		return ""
	}
	return string(data)
}

func TestTrustIsAskedAtTheFirstPromptBeforeAnythingElse(t *testing.T) {
	d, _ := ready(t, withFormAndNotices, nil)
	d.bring()
	id := d.New(d.dir)
	var mu sync.Mutex
	var before []acptest.Update
	var asked *formRequest
	d.On("elicitation/create", func(params jsonRaw) *acptest.Answer {
		mu.Lock()
		defer mu.Unlock()
		before, asked = d.Updates(id), decodeForm(d.t, params)
		return accepted(map[string]any{"choice": "1"})
	})
	d.answers(chose("reject_once"))
	d.Say(id, "bash touch made\nread_skill sail")
	mu.Lock()
	defer mu.Unlock()
	if asked == nil {
		t.Fatal("not asked")
	}
	for _, u := range before {
		if u.Kind != "available_commands_update" {
			t.Errorf("before the question came %v", u.Body)
		}
	}
	choice := asked.RequestedSchema.Properties["choice"]
	if !strings.Contains(asked.Message, d.dir) || len(choice.OneOf) != 2 || !strings.HasPrefix(choice.OneOf[0].Title, "No") || !strings.HasPrefix(choice.OneOf[1].Title, "Yes") {
		t.Errorf("asked %+v", asked)
	}
	if !d.exists("made") {
		t.Error("the trusted project's grant did not count")
	}
	if !strings.Contains(d.trustFile(), d.dir) {
		t.Errorf("the decision was not stored: %q", d.trustFile())
	}
}

func TestTrustThatWasGivenIsNotAskedForAgain(t *testing.T) {
	d, _ := ready(t, withForm, nil)
	d.bring()
	d.forms(accepted(map[string]any{"choice": "1"}))
	d.Say(d.New(d.dir), "hello")
	d.again(nil)
	d.Initialize(withForm)
	asked := d.forms(acted("cancel"))
	d.answers(chose("reject_once"))
	d.Say(d.New(d.dir), "bash touch made")
	if asked.Load() != nil || !d.exists("made") {
		t.Errorf("asked again: %t; the grant counts: %t", asked.Load() != nil, d.exists("made"))
	}
}

func TestTrustThatWasNotGivenIsNotStored(t *testing.T) {
	for name, answer := range map[string]*acptest.Answer{
		"no":         accepted(map[string]any{"choice": "0"}),
		"cancel":     acted("cancel"),
		"decline":    acted("decline"),
		"no content": acted("accept"),
		"an error":   refusal(-32603, "broken"),
		"unknown":    refusal(-32601, "method not found"),
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := ready(t, withFormAndNotices, nil)
			d.bring()
			id := d.New(d.dir)
			d.forms(answer)
			asked := d.answers(chose("reject_once"))
			updates := d.Say(id, "bash touch made")
			if d.exists("made") || asked.count() != 1 {
				t.Errorf("an untrusted grant counted; asked %d times", asked.count())
			}
			if text := d.trustFile(); strings.Contains(text, d.dir) {
				t.Errorf("stored %s", text)
			}
			if list := told(updates); len(list) != 1 || !strings.Contains(list[0], "/trust on") {
				t.Errorf("told %q", list)
			}
			again := d.forms(accepted(map[string]any{"choice": "1"}))
			if list := told(d.Say(id, "hello")); again.Load() != nil || len(list) != 0 {
				t.Errorf("asked twice in a session: %t, told %q", again.Load() != nil, list)
			}
		})
	}
}

func TestATurnCancelledAtTheTrustQuestionAsksAgain(t *testing.T) {
	d, _ := ready(t, withForm, nil)
	d.bring()
	id := d.New(d.dir)
	asked := make(chan struct{})
	d.On("elicitation/create", func(jsonRaw) *acptest.Answer { close(asked); return nil })
	turn := d.Prompt(id, "hello")
	<-asked
	d.Cancel(id)
	turn.Wait("cancelled")
	again := d.forms(accepted(map[string]any{"choice": "1"}))
	d.Say(id, "bash touch made")
	if again.Load() == nil || !d.exists("made") {
		t.Error("not asked again")
	}
}

func TestWithoutFormsTrustIsToldOnceAndNeverAskedAsAPermission(t *testing.T) {
	d, _ := ready(t, `{"session":{"notices":{}}}`, nil)
	d.bring()
	id := d.New(d.dir)
	asked := d.answers(chose("allow_once"))
	if list := told(d.Say(id, "hello")); len(list) != 1 || !strings.HasPrefix(list[0], "info") || !strings.Contains(list[0], "/trust on") || !strings.Contains(list[0], "permissions.json") {
		t.Errorf("told %q", list)
	}
	if list := told(d.Say(id, "hello again")); asked.count() != 0 || len(list) != 0 {
		t.Errorf("asked %d times, told again %q", asked.count(), list)
	}
}

func TestAClientWithoutNoticesReadsWhatWasLeftOut(t *testing.T) {
	d, _ := ready(t, `{}`, nil)
	d.bring()
	id := d.New(d.dir)
	updates := d.Say(id, "hello")
	if text := acptest.Text(updates, "agent_message_chunk"); !strings.Contains(text, "/trust on") {
		t.Errorf("answered %q", text)
	}
	start := len(d.Updates(id))
	d.Load(id, d.dir)
	if text := acptest.Text(d.Updates(id)[start:], "agent_message_chunk"); strings.Contains(text, "/trust on") {
		t.Errorf("a notice was replayed: %q", text)
	}
}

func TestTrustOnAndOffTakeEffectAtOnce(t *testing.T) {
	d, _ := ready(t, `{}`, nil)
	d.bring()
	id := d.New(d.dir)
	asked := d.answers(chose("reject_once"))
	said := func(text string) string { return acptest.Text(d.Say(id, text), "agent_message_chunk") }
	said("hello")
	if text := said("/trust"); !strings.Contains(text, "not trusted") {
		t.Errorf("/trust says %q", text)
	}
	said("/trust on")
	d.Say(id, "bash touch made")
	if asked.count() != 0 || !d.exists("made") {
		t.Errorf("asked %d times after /trust on", asked.count())
	}
	said("/trust off")
	d.Say(id, "bash touch made")
	if asked.count() != 1 {
		t.Errorf("asked %d times after /trust off", asked.count())
	}
	d.again(nil)
	d.Initialize(withForm)
	form := d.forms(acted("cancel"))
	d.Say(d.New(d.dir), "hello")
	if form.Load() != nil {
		t.Error("asked although it was decided")
	}
}

func TestAProjectWithoutFilesOfItsOwnRaisesNoQuestion(t *testing.T) {
	d, _ := ready(t, withFormAndNotices, nil)
	d.write("AGENTS.md", "be kind")
	d.write(".nimlet/notes.txt", "nothing of ours")
	form := d.forms(acted("cancel"))
	if list := told(d.Say(d.New(d.dir), "hello")); form.Load() != nil || len(list) != 0 {
		t.Errorf("asked: %t, told %q", form.Load() != nil, list)
	}
}

func TestAnUntrustedProjectChangesNothing(t *testing.T) {
	used := func(trust string) (used float64, steps bool) {
		d, _ := ready(t, withFormAndNotices, nil)
		d.write("a.txt", "alpha")
		d.bring()
		d.write(".nimlet/config.json", `{"agent": {"max_steps": 1}}`)
		d.write(".nimlet/SYSTEM.md", strings.Repeat("You are a pirate. ", 4000))
		id := d.New(d.dir)
		d.forms(accepted(map[string]any{"choice": trust}))
		start := len(d.Updates(id))
		d.Prompt(id, "read a.txt").Answer()
		for _, u := range d.Updates(id)[start:] {
			if n, ok := u.Body["used"].(float64); ok {
				used = max(used, n)
			}
			steps = steps || strings.Contains(u.String("title"), "Stopped after 1 model")
		}
		return used, steps
	}
	untrusted, stopped := used("0")
	trusted, stoppedTrusted := used("1")
	if stopped || !stoppedTrusted {
		t.Errorf("max_steps of the project counts untrusted: %t, trusted: %t", stopped, stoppedTrusted)
	}
	if untrusted > 10_000 || trusted < 15_000 {
		t.Errorf("SYSTEM.md: a request takes %v tokens untrusted and %v trusted", untrusted, trusted)
	}
}

func TestTrustIsAskedOnceForPromptsThatWait(t *testing.T) {
	d, _ := ready(t, withForm, nil)
	d.bring()
	id := d.New(d.dir)
	var forms atomic.Int32
	d.On("elicitation/create", func(jsonRaw) *acptest.Answer { forms.Add(1); return acted("decline") })
	a, b := d.Prompt(id, "one"), d.Prompt(id, "two")
	a.Wait("end_turn")
	b.Wait("end_turn")
	if forms.Load() != 1 {
		t.Errorf("asked %d times", forms.Load())
	}
}
