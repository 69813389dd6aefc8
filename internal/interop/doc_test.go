package interop

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheDocumentedClientHoldsADialogue runs the client that docs/protocol.md shows, as it stands there.
func TestTheDocumentedClientHoldsADialogue(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "protocol.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(strings.ReplaceAll(string(page), "\r\n", "\n"), "```python\n")
	client, _, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		t.Fatal("docs/protocol.md shows no client in Python")
	}
	d := sit(t)
	d.write("client.py", client)
	r := d.exec(nil, d.environ(), python(t), append([]string{"client.py"}, d.agent...)...)
	for _, want := range []string{"[allowing touch made.txt]", " completed]", "end_turn"} {
		if r.status != 0 || !strings.Contains(r.stdout, want) {
			t.Fatalf("it did not print %q: %v", want, r)
		}
	}
	if !d.has("made.txt") {
		t.Errorf("the command that was allowed did nothing: %v", r)
	}
}

func python(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"python3", "python"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("this test needs Python 3 (https://www.python.org, or: apt-get install python3)")
	return ""
}
