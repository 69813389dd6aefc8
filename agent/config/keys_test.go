package config

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const canary = "sk-canary-1234567890"

func TestWhereAKeyIsFound(t *testing.T) {
	dir := place(t, map[string]string{"key.txt": canary + "\n", "auth.json": `{"anthropic":{"type":"api_key","key":"` + canary + `"}}`, "empty.txt": " \n"})
	if err := os.Chmod(filepath.Join(dir, "auth.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := Home(dir)
	none := map[string]string{}
	for name, c := range map[string]struct {
		apiKey      string
		env         map[string]string
		provider    string
		want, error string
		source      string
	}{
		"literal":              {apiKey: canary, provider: "x", want: canary, source: "providers.x.api_key in config.json"},
		"variable of config":   {apiKey: "{env:MINE}", env: map[string]string{"MINE": canary}, provider: "x", want: canary},
		"unset variable":       {apiKey: "{env:MINE}", provider: "x", error: "the variable MINE is not set"},
		"file beside config":   {apiKey: "{file:key.txt}", provider: "x", want: canary},
		"file by full path":    {apiKey: "{file:" + filepath.Join(dir, "key.txt") + "}", provider: "x", want: canary},
		"no such file":         {apiKey: "{file:nosuch}", provider: "x", error: "nosuch"},
		"empty file":           {apiKey: "{file:empty.txt}", provider: "x", error: "is empty"},
		"well-known variable":  {env: map[string]string{"ANTHROPIC_API_KEY": canary}, provider: "anthropic", want: canary, source: "ANTHROPIC_API_KEY"},
		"variable before file": {env: map[string]string{"ANTHROPIC_API_KEY": "other"}, provider: "anthropic", want: "other"},
		"auth.json":            {provider: "anthropic", want: canary, source: "auth.json"},
		"nowhere":              {provider: "openai", want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			env := c.env
			if env == nil {
				env = none
			}
			s := Settings{Providers: map[string]Provider{c.provider: {APIKey: c.apiKey}}}
			key, err := s.FindKey(h, c.provider, []string{"ANTHROPIC_API_KEY"}, func(n string) string { return env[n] })
			if c.error != "" {
				if err == nil || !strings.Contains(err.Error(), c.error) {
					t.Errorf("error %v, want one with %q", err, c.error)
				}
				return
			}
			if err != nil || key.Value != c.want || c.source != "" && key.Source != c.source {
				t.Errorf("found %+v, %v", key, err)
			}
		})
	}
}

func TestAnAuthFileThatCannotBeUsedSaysWhyAndShowsNoKey(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"broken":         {`{"anthropic": "` + canary + `"`, 0o600, "is not of the form"},
		"another form":   {`{"anthropic": "` + canary + `"}`, 0o600, "is not of the form"},
		"another type":   {`{"anthropic": {"type":"oauth","key":"` + canary + `"}}`, 0o600, `type "oauth"`},
		"open to others": {`{"anthropic": {"type":"api_key","key":"` + canary + `"}}`, 0o644, "chmod 600"},
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" && c.mode != 0o600 {
				t.Log("modes mean nothing here")
				return
			}
			dir := place(t, map[string]string{"auth.json": c.text})
			if err := os.Chmod(filepath.Join(dir, "auth.json"), c.mode); err != nil {
				t.Fatal(err)
			}
			key, err := (Settings{}).FindKey(Home(dir), "anthropic", nil, func(string) string { return "" })
			if key.Value != "" || err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), canary) {
				t.Errorf("found %+v, %v", key, err)
			}
		})
	}
}
