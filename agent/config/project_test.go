package config

import (
	"os"
	accounts "os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProjectFiles(t *testing.T) {
	h, user := Home(t.TempDir()), t.TempDir()
	ws := t.TempDir()
	for _, dir := range []string{".nimlet/tools", ".agents/skills", ".agent/prompts"} {
		folder(t, ws, filepath.FromSlash(dir))
	}
	put(t, ws, "AGENTS.md", "needs no trust")
	put(t, ws, ".nimlet/notes.md", "nothing of ours")
	put(t, ws, ".agents/tools/x/tool.json", "this root does not exist")
	put(t, ws, ".agent/extensions/x/extension.json", "nor does this")
	if got := ProjectFiles(h, user, ws); got != nil {
		t.Errorf("got %q, want nothing: folders are empty and the rest is not read", got)
	}

	want := []string{".nimlet/config.json", ".nimlet/permissions.json", ".nimlet/SYSTEM.md", ".nimlet/APPEND_SYSTEM.md",
		".nimlet/tools", ".nimlet/extensions", ".nimlet/skills", ".nimlet/prompts",
		".agents/extensions", ".agents/skills", ".agents/prompts", ".agent/tools", ".agent/skills", ".agent/prompts"}
	for _, path := range want {
		if filepath.Ext(path) == "" {
			path += "/x"
		}
		put(t, ws, path, "{}")
	}
	if diff := cmp.Diff(want, ProjectFiles(h, user, ws)); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
}

func TestTheUsersOwnFilesAreNoProjects(t *testing.T) {
	user := t.TempDir()
	h := Home(filepath.Join(user, ".nimlet"))
	put(t, user, ".nimlet/config.json", `{"agent": {"session_dir": "kept"}}`)
	put(t, user, ".nimlet/APPEND_SYSTEM.md", "once")
	put(t, user, ".agents/skills/x/SKILL.md", "x")
	if got := ProjectFiles(h, user, user); got != nil {
		t.Errorf("in the home folder %q need trust", got)
	}
	s, problems := Load(h, user, true, "")
	if s.Agent.SessionDir != filepath.Join(string(h), "kept") || problems != nil {
		t.Errorf("session_dir is %s, problems\n%s", s.Agent.SessionDir, said(problems))
	}
	if _, appended, _ := SystemPrompt(h, user, true); appended != "once" {
		t.Errorf("the addition counts twice: %q", appended)
	}
}

func TestSkillRoots(t *testing.T) {
	got := SkillRoots("/h/.nimlet", "/h", "/ws", true)
	want := []string{"/h/.agents/skills", "/h/.nimlet/skills", "/ws/.agent/skills", "/ws/.agents/skills", "/ws/.nimlet/skills"}
	for i := range want {
		want[i] = filepath.FromSlash(want[i])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("roots (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[:2], SkillRoots("/h/.nimlet", "/h", "/ws", false)); diff != "" {
		t.Errorf("roots without trust (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[1:2], SkillRoots("/h/.nimlet", "", "/ws", false)); diff != "" {
		t.Errorf("roots without a home (-want +got):\n%s", diff)
	}
}

func TestSystemPrompt(t *testing.T) {
	h, ws := Home(t.TempDir()), t.TempDir()
	check := func(trusted bool, wantReplace, wantAppended string) {
		t.Helper()
		replace, appended, problems := SystemPrompt(h, ws, trusted)
		if replace != wantReplace || appended != wantAppended || problems != nil {
			t.Errorf("trusted %v: %q, %q, want %q, %q; problems %s", trusted, replace, appended, wantReplace, wantAppended, said(problems))
		}
	}
	check(true, "", "")
	put(t, ws, ".nimlet/SYSTEM.md", " project \n")
	put(t, ws, ".nimlet/APPEND_SYSTEM.md", "more of the project")
	check(false, "", "")
	check(true, "project", "more of the project")
	put(t, string(h), "SYSTEM.md", "mine")
	put(t, string(h), "APPEND_SYSTEM.md", "more of mine")
	check(false, "mine", "more of mine")
	check(true, "project", "more of mine\n\nmore of the project")
	put(t, ws, ".nimlet/SYSTEM.md", "\n \n")
	check(true, "mine", "more of mine\n\nmore of the project")
}

func TestProjectPermissions(t *testing.T) {
	tests := []struct {
		text string
		keys []string
		want string
	}{
		{`{"allow": ["bash:go test ./...", "tool:x"]}`, []string{"bash:go test ./...", "tool:x"}, ""},
		{`{"allow": ["a", 5]}`, []string{"a"}, "error permissions.json:1: allow[1]: want a text, got a number; it is left out"},
		{`{"alow": ["a"]}`, nil, "warning permissions.json:1: alow: there is no such setting; is it allow?"},
		{`{"allow": "all"}`, nil, "error permissions.json:1: allow: want a list, got a text; it is left out"},
		{`{"allow": ["a"]`, nil, "error permissions.json: it is no JSON: line 1, column 15: unexpected end of JSON input; the whole file is left out"},
	}
	for _, test := range tests {
		ws := t.TempDir()
		put(t, ws, ".nimlet/permissions.json", test.text)
		keys, problems := ProjectPermissions(ws)
		if diff := cmp.Diff(test.keys, keys); diff != "" || said(problems) != test.want {
			t.Errorf("%s gives %q and\n%s\nwant\n%s", test.text, keys, said(problems), test.want)
		}
	}
	if keys, problems := ProjectPermissions(t.TempDir()); keys != nil || problems != nil {
		t.Errorf("without a file: %q, %s", keys, said(problems))
	}
}

func TestAFolderInAFilesPlace(t *testing.T) {
	h, ws := Home(t.TempDir()), t.TempDir()
	folder(t, h.ConfigFile())
	folder(t, ws, ".nimlet", "SYSTEM.md")
	if _, problems := Load(h, ws, true, ""); len(problems) != 1 || problems[0].File != h.ConfigFile() {
		t.Errorf("problems:\n%s", said(problems))
	}
	if _, _, problems := SystemPrompt(h, ws, true); !strings.HasPrefix(said(problems), "error SYSTEM.md: cannot be read, so it is left out: ") {
		t.Errorf("problems:\n%s", said(problems))
	}
}

func TestFindHome(t *testing.T) {
	home := t.TempDir()
	env := map[string]string{"HOME": home, "USERPROFILE": home}
	get := func(name string) string { return env[name] }
	if h, err := FindHome(get); err != nil || string(h) != filepath.Join(home, ".nimlet") {
		t.Errorf("home is %s (%v)", h, err)
	}
	env["NIMLET_HOME"] = filepath.Join(home, "other")
	if h, err := FindHome(get); err != nil || string(h) != env["NIMLET_HOME"] {
		t.Errorf("home is %s (%v), want %s", h, err, env["NIMLET_HOME"])
	}
	env["NIMLET_HOME"] = "relative"
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if h, err := FindHome(get); err != nil || string(h) != filepath.Join(wd, "relative") {
		t.Errorf("home is %s (%v)", h, err)
	}
	clear(env)
	account, err := accounts.Current()
	if err != nil {
		t.Fatal(err)
	}
	if h, err := FindHome(get); err != nil || string(h) != filepath.Join(account.HomeDir, ".nimlet") {
		t.Errorf("home is %s (%v) where the environment names none", h, err)
	}
}
