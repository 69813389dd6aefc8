package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// place writes files, given as path and text, below a new folder.
func place(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func texts(list []Instruction) []string {
	var out []string
	for _, i := range list {
		out = append(out, i.Text)
	}
	return out
}

func TestInstructionsGoFromTheUsersOwnDownToTheWorkspace(t *testing.T) {
	dir := place(t, map[string]string{
		"home/AGENTS.md":             "\uFEFFmine\n",
		"above/AGENTS.md":            "above the repository",
		"above/repo/.git/HEAD":       "",
		"above/repo/AGENTS.md":       "root",
		"above/repo/a/AGENTS.md":     " \n",
		"above/repo/a/b/AGENTS.md":   "workspace",
		"above/repo/a/b/c/AGENTS.md": "below",
	})
	list, problems := Instructions(Home(filepath.Join(dir, "home")), filepath.Join(dir, "above", "repo", "a", "b"))
	if d := cmp.Diff([]string{"mine", "root", "workspace"}, texts(list)); d != "" || len(problems) > 0 {
		t.Errorf("problems %v, instructions (-want +got):\n%s", problems, d)
	}
	if !list[0].Own || list[1].Own {
		t.Error("the user's own is not told from the project's")
	}
}

func TestWithoutARepositoryOnlyTheWorkspaceCounts(t *testing.T) {
	dir := place(t, map[string]string{"AGENTS.md": "above", "ws/AGENTS.md": "workspace"})
	list, _ := Instructions(Home(filepath.Join(dir, "home")), filepath.Join(dir, "ws"))
	if d := cmp.Diff([]string{"workspace"}, texts(list)); d != "" {
		t.Error(d)
	}
}

func TestAnInstructionThatLeadsOutOfTheProjectIsLeftOut(t *testing.T) {
	dir := place(t, map[string]string{"secret": "key", "ws/sub/x": "", "ws/real.md": "inside"})
	ws := filepath.Join(dir, "ws")
	for name, target := range map[string]string{"AGENTS.md": filepath.Join(dir, "secret"), "sub/AGENTS.md": filepath.Join(ws, "real.md")} {
		if err := os.Symlink(target, filepath.Join(ws, name)); err != nil {
			t.Fatal(err)
		}
	}
	list, problems := Instructions(Home(filepath.Join(dir, "home")), ws)
	if len(list) != 0 || len(problems) != 1 || !strings.Contains(problems[0].String(), "leads out of the project") {
		t.Errorf("instructions %v, problems %v", list, problems)
	}
	near, problems := Nearby(ws, filepath.Join(ws, "sub", "x"))
	if len(problems) > 0 || len(near) != 1 || near[0].Text != "inside" {
		t.Errorf("nearby %v, problems %v", near, problems)
	}
}

func TestNearbyInstructionsStandBesideOrAboveTheFile(t *testing.T) {
	ws := place(t, map[string]string{"AGENTS.md": "in the prompt already", "a/AGENTS.md": "a", "a/b/c/AGENTS.md": "c", "a/b/c/d/AGENTS.md": "below"})
	list, _ := Nearby(ws, filepath.Join(ws, "a", "b", "c", "x.go"))
	if d := cmp.Diff([]string{"a", "c"}, texts(list)); d != "" {
		t.Error(d)
	}
	for _, file := range []string{filepath.Join(ws, "x.go"), filepath.Join(ws, "..", "x", "y.go")} {
		if list, _ := Nearby(ws, file); len(list) > 0 {
			t.Errorf("%s has %v", file, list)
		}
	}
}
