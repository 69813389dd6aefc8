package builtin

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"nimlet/tooling"
)

func TestProtectedFilesAreAlwaysAskedFor(t *testing.T) {
	c := newConfig(t, map[string]string{".git/config": "", "gitdata/config": "", "docs/rules.md": "", "sub/x": ""})
	root := c.Workspace.Root()
	if runtime.GOOS != "windows" {
		for link, target := range map[string]string{"link": ".git", "AGENTS.md": "docs/rules.md", ".agents": "gitdata", "new": ".vscode/tasks.json"} {
			must(t, os.Symlink(target, filepath.Join(root, link)))
		}
	}
	asked := []string{
		".git/config", ".git/hooks/pre-commit", "sub/.git/config", "sub/.git", ".nimlet/config.json", ".agents/tools/x/tool.json",
		".agent/skills/x/SKILL.md", ".vscode/tasks.json", "AGENTS.md", "sub/deep/AGENTS.md", "sub/../.git/config",
		filepath.Join(root, ".git", "config"), "sub/.nimlet/x",
	}
	if runtime.GOOS != "windows" {
		asked = append(asked, "link/config", "docs/rules.md", "gitdata/config", "new")
	}
	if runtime.GOOS != "linux" {
		asked = append(asked, ".GIT/config", "agents.MD")
	}
	free := []string{"sub/x", ".gitignore", ".github/workflows/x.yml", "git/config", "AGENTS.md.txt", "nimlet/x", "../outside"}
	for _, path := range asked {
		for _, tool := range []tooling.Guarded{edit{c}, write{c}} {
			need := tool.Permission(callOf(t, edit{c}, args{"path": path}))
			if need.Free || need.Remember || need.Key != "" || !strings.Contains(need.Reason, "changes what the agent may do") {
				t.Errorf("%s: %+v", path, need)
			}
		}
	}
	for path, want := range map[string]string{"sub/AGENTS.md": "sub/AGENTS.md changes ", ".git/config": ".git/config lies in .git, which changes "} {
		if need := (write{c}).Permission(callOf(t, write{c}, args{"path": path})); !strings.HasPrefix(need.Reason, want) {
			t.Errorf("%s: %s", path, need.Reason)
		}
	}
	for _, path := range free {
		if need := (edit{c}).Permission(callOf(t, edit{c}, args{"path": path})); !need.Free {
			t.Errorf("%s: %+v", path, need)
		}
	}
}

func TestWhatNimletIsConfiguredByIsProtectedWhereverItLies(t *testing.T) {
	c := newConfig(t, map[string]string{"state/grants.json": "", "dotfiles/nimlet/config.json": "", "my.json": "", "other/x": ""})
	root := c.Workspace.Root()
	home := t.TempDir()
	c.Workspace.Protect("", filepath.Join(root, "state"), filepath.Join(root, "my.json"), filepath.Join(root, "later"))
	asked := []string{"state/grants.json", "state/new/deep", "my.json", "later", "later/x"}
	if runtime.GOOS != "windows" {
		must(t, os.Symlink(filepath.Join(root, "dotfiles", "nimlet"), filepath.Join(home, ".nimlet")))
		c.Workspace.Protect(filepath.Join(home, ".nimlet"))
		asked = append(asked, "dotfiles/nimlet/config.json", "dotfiles/nimlet/trust.json")
	}
	for _, path := range asked {
		if need := (write{c}).Permission(callOf(t, write{c}, args{"path": path})); need.Free || need.Remember || need.Reason == "" {
			t.Errorf("%s: %+v", path, need)
		}
	}
	for _, path := range []string{"other/x", "state.json", "my.json.bak", "dotfiles/x"} {
		if need := (write{c}).Permission(callOf(t, write{c}, args{"path": path})); !need.Free {
			t.Errorf("%s: %+v", path, need)
		}
	}
}

func TestReadingNeedsNoPermission(t *testing.T) {
	c := newConfig(t, nil)
	for _, tool := range []tooling.Guarded{read{c}, grep{Config: c}, glob{c}, readSkill{c}} {
		if need := tool.Permission(callOf(t, read{c}, args{"path": ".git/config"})); need != (tooling.Need{Free: true}) {
			t.Errorf("%T: %+v", tool, need)
		}
	}
}
