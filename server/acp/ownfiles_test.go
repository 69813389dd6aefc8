package acp_test

import (
	"os"
	"path/filepath"
	"testing"

	"nimlet/agent/config"
	"nimlet/server"
)

// A home that lies in the workspace under a name of its own is what the model would write its own
// grants into.
func TestTheModelCannotGrantItselfAnythingInAHomeWithinTheWorkspace(t *testing.T) {
	d := &desk{t: t, dir: folder(t)}
	d.home = config.Home(filepath.Join(d.dir, "state"))
	sessions, settings := filepath.Join(d.dir, "talk"), filepath.Join(d.dir, "mine.json")
	if err := os.WriteFile(settings, []byte(`{"agent":{"session_dir":"`+filepath.ToSlash(sessions)+`"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	d.start(func(o *server.Options) { o.ConfigFile = settings })
	d.Initialize(`{}`)
	id := d.New(d.dir)
	asked := d.answers(chose("reject_once"))
	targets := []string{"state/grants.json", "state/trust.json", "state/skills/x/SKILL.md", "talk/1.jsonl"}
	for i, target := range targets {
		mustClose(t, d.Say(id, `write {"path": "`+target+`", "content": "{}"}`), "failed")
		if asked.count() != i+1 || d.exists(target) {
			t.Errorf("%s: asked %d times, written: %t", target, asked.count(), d.exists(target))
		}
	}
	mustClose(t, d.Say(id, `write {"path": "mine.json", "content": "{}", "overwrite": true}`), "failed")
	if asked.count() != len(targets)+1 {
		t.Error("the settings given by --config were changed unasked")
	}
	mustClose(t, d.Say(id, `write {"path": "free.json", "content": "{}"}`), "completed")
}
