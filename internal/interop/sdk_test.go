package interop

import (
	"encoding/json"
	"path/filepath"
	"testing"
)

// TestTypeScriptSDK plays each dialogue in sdk/ with the official client. They state there what must
// hold, and exit with another status than 0 when it does not.
func TestTypeScriptSDK(t *testing.T) {
	kit := clients(t)
	for _, dialogue := range []string{"turn", "permission", "buffer", "cancel", "sessions", "queue"} {
		t.Run(dialogue, func(t *testing.T) {
			d := sit(t)
			agent, err := json.Marshal(d.agent)
			if err != nil {
				t.Fatal(err)
			}
			script, err := filepath.Abs(filepath.Join("sdk", dialogue+".mjs"))
			if err != nil {
				t.Fatal(err)
			}
			r := d.exec(nil, d.environ("AGENT="+string(agent), "ACP_SDK="+kit.sdk()), kit.node(t), script)
			if r.status != 0 {
				t.Error(r)
			}
		})
	}
}
