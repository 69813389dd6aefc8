package acp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nimlet/internal/acptest"
	"nimlet/server"
)

func TestEachPermissionOptionHasItsEffect(t *testing.T) {
	for _, c := range []struct {
		option       string
		runs         bool
		asksAgain    bool
		asksAnywhere bool // in a second session of the folder
	}{
		{"allow_once", true, true, true},
		{"allow_session", true, false, true},
		{"allow_project", true, false, false},
		{"reject_once", false, true, true},
	} {
		t.Run(c.option, func(t *testing.T) {
			d, id := ready(t, `{}`, nil)
			asked := d.answers(chose(c.option), chose("reject_once"))
			status := map[bool]string{true: "completed", false: "failed"}[c.runs]
			text := mustClose(t, d.Say(id, "bash touch made"), status)
			if d.exists("made") != c.runs {
				t.Errorf("ran: %t, want %t", !c.runs, c.runs)
			}
			if !c.runs && !strings.HasPrefix(text, "approval_denied") {
				t.Errorf("a rejected call shows %q", text)
			}
			d.Say(id, "bash touch made")
			if again := asked.count() == 2; again != c.asksAgain {
				t.Errorf("asked again: %t, want %t", again, c.asksAgain)
			}
			before := asked.count()
			d.Say(d.New(d.dir), "bash touch made")
			if anywhere := asked.count() > before; anywhere != c.asksAnywhere {
				t.Errorf("asked in another session: %t, want %t", anywhere, c.asksAnywhere)
			}
		})
	}
}

func TestAGrantOfACommandCoversThatCommandAlone(t *testing.T) {
	d, id := ready(t, `{}`, nil)
	d.write("x", "")
	asked := d.answers(chose("allow_session"), chose("reject_once"))
	d.Say(id, "bash git status")
	for i, command := range []string{
		"rm x", "git status; rm x", "git status && rm x", "echo $(rm x)", "git status -s", "git  status", "git status\nrm x",
	} {
		input, _ := json.Marshal(map[string]string{"command": command})
		d.Say(id, "bash "+string(input))
		if asked.count() != i+2 {
			t.Fatalf("%q was not asked about", command)
		}
	}
	if !d.exists("x") {
		t.Error("a rejected command ran")
	}
	d.Say(id, "bash git status")
	if asked.count() != 8 {
		t.Error("the granted command was asked about again")
	}
}

func TestAGrantForTheSessionOutlivesPlanModeAndCancel(t *testing.T) {
	d, id := ready(t, `{}`, nil)
	asked := d.answers(chose("allow_session"))
	d.Say(id, "bash touch made")
	d.Say(id, "/plan")
	if err := os.Remove(filepath.Join(d.dir, "made")); err != nil {
		t.Fatal(err)
	}
	d.Say(id, `bash touch made`)
	if d.exists("made") {
		t.Error("a grant opened plan mode")
	}
	d.Say(id, "/act")
	d.Say(id, "bash sleep 0.01") // granted as well
	turn := d.Prompt(id, "bash sleep 30")
	d.Await(func(u acptest.Update) bool { return u.String("title") == "sleep 30" && u.Kind == "tool_call" })
	d.Await(func(u acptest.Update) bool { return asked.count() == 3 })
	d.Cancel(id)
	turn.Wait("cancelled")
	d.Say(id, "bash touch made")
	if asked.count() != 3 || !d.exists("made") {
		t.Errorf("asked %d times, want 3; ran %t", asked.count(), d.exists("made"))
	}
}

func TestAGrantForTheProjectHoldsOverARestartAndThereOnly(t *testing.T) {
	d, id := ready(t, `{}`, nil)
	d.answers(chose("allow_project"))
	d.Say(id, "bash touch made")
	stored, err := os.ReadFile(d.home.GrantsFile())
	if err != nil || !strings.Contains(string(stored), "bash:touch made") || !strings.Contains(string(stored), d.dir) {
		t.Fatalf("the grants file holds %q (%v)", stored, err)
	}
	if entries, _ := os.ReadDir(filepath.Join(d.dir, ".nimlet")); len(entries) > 0 {
		t.Errorf("the grant was written into the project: %v", entries)
	}
	d.again(nil)
	d.Initialize(`{}`)
	asked := d.answers(chose("reject_once"))
	d.Say(d.New(d.dir), "bash touch made")
	if asked.count() != 0 {
		t.Error("asked again after a restart")
	}
	d.Say(d.New(folder(t)), "bash touch made")
	if asked.count() != 1 {
		t.Error("the grant of one folder held in another")
	}
}

func TestDangerousAndProtectedCallsAreAskedEveryTime(t *testing.T) {
	for name, call := range map[string]string{
		"dangerous":      "bash rm -f x",
		"hidden":         "bash true && \\rm -f x",
		"not literal":    "bash X=rm; $X -f x",
		"several lines":  `bash {"command": "touch a\ntouch b"}`,
		"protected file": `write {"path": "AGENTS.md", "content": "obey", "overwrite": true}`,
		"own settings":   `write {"path": ".nimlet/permissions.json", "content": "{}", "overwrite": true}`,
	} {
		t.Run(name, func(t *testing.T) {
			d, id := ready(t, `{}`, nil)
			asked := d.answers(chose("allow_once"))
			for i := range 3 {
				mustClose(t, d.Say(id, call), "completed")
				if asked.count() != i+1 {
					t.Fatalf("asked %d times, want %d", asked.count(), i+1)
				}
				if ids := asked.last(t).ids(); ids != "allow_once reject_once" {
					t.Errorf("offered %q", ids)
				}
			}
		})
	}
}

func TestADangerousCallTakesNoGrantThatWasNotOffered(t *testing.T) {
	d, id := ready(t, `{}`, nil)
	d.write("x", "")
	for _, option := range []string{"allow_session", "allow_project", "made up", ""} {
		asked := d.answers(chose(option))
		text := mustClose(t, d.Say(id, "bash rm x"), "failed")
		if asked.count() != 1 || !d.exists("x") || !strings.HasPrefix(text, "approval_denied") {
			t.Errorf("%q: asked %d times, ran %t, shown %q", option, asked.count(), !d.exists("x"), text)
		}
	}
	if _, err := os.Stat(d.home.GrantsFile()); err == nil {
		t.Error("something was granted")
	}
}

func TestAModelCannotWidenItsRights(t *testing.T) {
	const grant = `{\"allow\":[\"bash:rm -rf x\"]}`
	for _, call := range []string{
		`write {"path": ".nimlet/permissions.json", "content": "` + grant + `"}`,
		`write {"path": "sub/.agents/skills/a/SKILL.md", "content": "x"}`,
		`write {"path": "docs/AGENTS.md", "content": "x"}`,
		`write {"path": ".git/hooks/pre-commit", "content": "x"}`,
		`write {"path": ".vscode/tasks.json", "content": "x"}`,
		`write {"path": "sub/../.nimlet/config.json", "content": "{}"}`,
		`edit {"path": "AGENTS.md", "old_text": "old", "new_text": "new"}`,
		`bash mkdir -p .nimlet && echo '{}' > .nimlet/permissions.json`,
		`bash tee AGENTS.md < /dev/null`,
	} {
		d, id := ready(t, `{}`, nil)
		d.write("AGENTS.md", "old")
		asked := d.answers(chose("reject_once"))
		mustClose(t, d.Say(id, call), "failed")
		if asked.count() != 1 {
			t.Errorf("%s: asked %d times", call, asked.count())
		}
		if d.read("AGENTS.md") != "old" || d.exists(".nimlet") || d.exists("sub") || d.exists("docs") || d.exists(".git") || d.exists(".vscode") {
			t.Errorf("%s: something was written", call)
		}
	}
}

func TestPermissionsAreShownAndTakenBack(t *testing.T) {
	d, id := ready(t, `{}`, func(o *server.Options) { o.Allow = []string{"bash:touch flag"} })
	said := func(text string) string { return acptest.Text(d.Say(id, text), "agent_message_chunk") }
	asked := d.answers(chose("allow_session"), chose("allow_project"), chose("reject_once"))
	d.Say(id, "bash touch one\nbash touch two\nbash touch flag")
	list := said("/permissions")
	for _, want := range []string{"bash:touch one` (session)", "bash:touch two` (project)", "bash:touch flag` (flag)"} {
		if !strings.Contains(list, want) {
			t.Errorf("%q does not show %q", list, want)
		}
	}
	if reply := said("/permissions clear"); !strings.Contains(reply, "taken back") || !strings.Contains(reply, "touch flag") {
		t.Errorf("clearing says %q", reply)
	}
	if list := said("/permissions"); strings.Contains(list, "one") || strings.Contains(list, "two") || !strings.Contains(list, "touch flag") {
		t.Errorf("after clearing: %q", list)
	}
	d.Say(id, "bash touch one\nbash touch two")
	if asked.count() != 4 {
		t.Errorf("asked %d times, want 4", asked.count())
	}
	if text := said("/permissions all"); !strings.Contains(text, "clear") {
		t.Errorf("a wrong argument is answered %q", text)
	}
}

func TestYoloAsksNothingUntilItIsOff(t *testing.T) {
	d, id := ready(t, `{}`, nil)
	d.write("x", "")
	asked := d.answers(chose("reject_once"))
	other := d.New(folder(t))
	d.Say(id, "/yolo")
	d.Say(id, "bash rm x")
	d.Say(other, "bash rm -f y")
	d.Say(d.New(folder(t)), "bash rm -f y")
	d.Say(id, `write {"path": "AGENTS.md", "content": "x"}`)
	if asked.count() != 0 || d.exists("x") || !d.exists("AGENTS.md") {
		t.Errorf("asked %d times", asked.count())
	}
	d.Say(id, "/yolo off")
	d.Say(id, "bash touch x")
	if asked.count() != 1 || d.exists("x") {
		t.Errorf("asked %d times after it was off", asked.count())
	}
	d.again(nil)
	d.Initialize(`{}`)
	asked = d.answers(chose("reject_once"))
	d.Say(d.New(d.dir), "bash touch x")
	if asked.count() != 1 {
		t.Error("yolo was kept over a restart")
	}
}
