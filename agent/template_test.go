package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nimlet/agent"
)

func TestTemplatesAreFoundAndOverriddenByName(t *testing.T) {
	mine, project := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(mine, "Review.md"):    "---\ndescription: Review a file\n---\nReview $1 with care.",
		filepath.Join(mine, "fix.md"):       "# Fix\n\nMake the tests pass.",
		filepath.Join(mine, "notes.txt"):    "no template",
		filepath.Join(mine, "two words.md"): "no name for a command",
		filepath.Join(mine, "empty.md"):     "---\ndescription: x\n---\n",
		filepath.Join(project, "review.md"): "---\ndescription: be: strict\n---\nThe project's review of $ARGUMENTS.",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	list, warnings := agent.Templates([]string{mine, filepath.Join(mine, "nosuch"), project})
	if len(list) != 2 || list[0].Name != "review" && list[1].Name != "review" {
		t.Fatalf("found %+v", list)
	}
	for _, x := range list {
		switch x.Name {
		case "review":
			if x.Description != "be: strict" || x.File != filepath.Join(project, "review.md") {
				t.Errorf("%+v", x)
			}
		case "fix":
			if x.Description != "Make the tests pass." {
				t.Errorf("%+v", x)
			}
		}
	}
	all := strings.Join(warnings, "\n")
	for _, want := range []string{"two words", "empty.md: there is no text to send", "review.md: the front matter is no YAML"} {
		if !strings.Contains(all, want) {
			t.Errorf("no warning with %q in:\n%s", want, all)
		}
	}
}

func TestArgumentsArePutIntoATemplate(t *testing.T) {
	for _, c := range []struct{ text, args, want string }{
		{"Look at $ARGUMENTS.", "a  b", "Look at a  b."},
		{"Look at $@.", "a b", "Look at a b."},
		{"$2 before $1", `one "two words" three`, "two words before one"},
		{"$1 and $3", "don't stop", "don't and "},
		{"costs $10 and $0", "x", "costs x0 and $0"},
		{"No place.", "more to say", "No place.\n\nmore to say"},
		{"No place.", "", "No place."},
		{"Say $1", "$ARGUMENTS", "Say $ARGUMENTS"},
	} {
		if got := (agent.Template{Text: c.text}).Expand(c.args); got != c.want {
			t.Errorf("Expand(%q) of %q = %q, want %q", c.args, c.text, got, c.want)
		}
	}
}
