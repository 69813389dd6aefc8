package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"nimlet/agent/config"
	"nimlet/agent/model"
)

func TestDocumentedSettingsLoad(t *testing.T) {
	for _, b := range shown(t, "json config") {
		file := filepath.Join(t.TempDir(), "config.json")
		putFile(t, file, b.text)
		if _, problems := config.Load(config.Home(t.TempDir()), t.TempDir(), false, file); len(problems) > 0 {
			t.Errorf("%v has the problems %v", b, problems)
		}
	}
}

func TestDocumentedKeysAreFound(t *testing.T) {
	for _, b := range shown(t, "json auth") {
		home := config.Home(t.TempDir())
		putFile(t, home.AuthFile(), b.text)
		var entries map[string]struct{ Key string }
		if err := json.Unmarshal([]byte(b.text), &entries); err != nil || len(entries) == 0 {
			t.Fatalf("%v: %v", b, err)
		}
		for provider, want := range entries {
			key, err := config.Settings{}.FindKey(home, provider, nil, func(string) string { return "" })
			if err != nil || key.Value != want.Key {
				t.Errorf("%v: the key of %s is %q, %v", b, provider, key.Value, err)
			}
		}
	}
}

// Each setting that the page about models has in a table is in one of its examples.
func TestSettingsOfModelsHaveExamples(t *testing.T) {
	const page = "docs/models.md"
	var examples strings.Builder
	blocks, prose := fences(t, page)
	for _, b := range blocks {
		if b.info == "json config" {
			examples.WriteString(b.text)
		}
	}
	rows := regexp.MustCompile("(?m)^\\| `([a-z_.\\[\\]A-Z]+)` \\| [^|]+ \\| [^|]+ \\| [^|]+ \\|$").FindAllStringSubmatch(prose, -1)
	if len(rows) < 15 {
		t.Fatalf("found %d settings", len(rows))
	}
	for _, row := range rows {
		name := row[1][strings.LastIndexByte(row[1], '.')+1:]
		if !strings.Contains(examples.String(), `"`+name+`":`) {
			t.Errorf("no example sets %s", row[1])
		}
	}
}

// The table of providers says what is built in.
func TestProvidersAreDocumented(t *testing.T) {
	text := pageText(t, "docs/models.md")
	dialects := map[model.Dialect]string{model.Anthropic: "Messages", model.OpenAI: "Chat Completions"}
	for _, p := range model.Providers() {
		variables, standard := "none", "the first that it lists"
		if len(p.KeyVars) > 0 {
			variables = "`" + strings.Join(p.KeyVars, "`, `") + "`"
		}
		if p.DefaultModel != "" {
			standard = "`" + p.DefaultModel + "`"
		}
		row := strings.Join([]string{"", " `" + p.Name + "` ", " " + dialects[p.Dialect] + " ", " `" + p.BaseURL + "` ", " " + variables + " ", " " + standard + " ", ""}, "|")
		if !strings.Contains(text, row) {
			t.Errorf("docs/models.md has no row\n%s", row)
		}
	}
	for _, level := range model.Levels() {
		if !strings.Contains(text, "`"+string(level)+"`") {
			t.Errorf("docs/models.md does not name the level %s", level)
		}
	}
}
