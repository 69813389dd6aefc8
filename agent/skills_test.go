package agent

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func writeSkill(t *testing.T, root, folder, text string) {
	t.Helper()
	dir := filepath.Join(root, folder)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestSkillsTakeNameAndDescription(t *testing.T) {
	for _, test := range []struct{ name, text, wantName, want, warning string }{
		{"front matter", "---\nname: pdf\ndescription: Fill forms\n---\n# PDF\nBody\n", "pdf", "Fill forms", ""},
		{"quoted", "---\nname: 'pdf'\ndescription: \"a: b\"\n---\n", "pdf", "a: b", ""},
		{"folded", "---\ndescription: >\n  two\n  lines\n---\n", "folder", "two lines", ""},
		{"no YAML", "---\nname: pdf\ndescription: Use when: always\n---\n", "pdf", "Use when: always", "no YAML"},
		{"wrong type", "---\nname: pdf\ndescription: [a, b]\n---\n", "pdf", "[a, b]", "no YAML"},
		{"no front matter", "# Title\n\nFirst line.\nSecond.\n", "folder", "First line.", ""},
		{"name alone", "---\nname: pdf\n---\n\n## Title\nFirst line.\n", "pdf", "First line.", ""},
		{"front matter without end", "---\nname: pdf\n", "folder", "---", ""},
		{"CRLF and BOM", "\uFEFF---\r\nname: pdf\r\ndescription: Fill\r\n---\r\n", "pdf", "Fill", ""},
		{"empty", "", "folder", "", "no description"},
		{"long", "---\ndescription: " + strings.Repeat("é", 900) + "\n---\n", "folder", strings.Repeat("é", 500) + "…", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			writeSkill(t, root, "folder", test.text)
			skills, warnings := Skills([]string{root})
			dir := filepath.Join(root, "folder")
			want := []Skill{{Name: test.wantName, Description: test.want, Dir: dir, File: filepath.Join(dir, "SKILL.md")}}
			if diff := cmp.Diff(want, skills); diff != "" {
				t.Error(diff)
			}
			all := strings.Join(warnings, "\n")
			if (test.warning == "") != (all == "") || !strings.Contains(all, test.warning) || all != "" && !strings.Contains(all, want[0].File) {
				t.Errorf("warnings %q, want %q", all, test.warning)
			}
		})
	}
}

func TestSkillsOfLaterRootsWin(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	writeSkill(t, first, "b", "---\nname: beta\n---\nfirst beta")
	writeSkill(t, first, "a", "first alpha")
	writeSkill(t, second, "x", "---\nname: Beta\n---\nsecond beta")
	writeSkill(t, second, "c", "gamma")
	if err := os.Mkdir(filepath.Join(second, "no-skill"), 0o777); err != nil {
		t.Fatal(err)
	}
	skills, warnings := Skills([]string{first, filepath.Join(first, "none"), second})
	var got []string
	for _, s := range skills {
		got = append(got, s.Name+": "+s.Description)
	}
	if diff := cmp.Diff([]string{"a: first alpha", "Beta: second beta", "c: gamma"}, got); diff != "" || warnings != nil {
		t.Errorf("%s, warnings %q", diff, warnings)
	}
}

func TestSkillsOfOneNameInOneRootAreWarnedAbout(t *testing.T) {
	root := t.TempDir()
	writeSkill(t, root, "a", "---\nname: same\n---\nfirst")
	writeSkill(t, root, "b", "---\nname: same\n---\nsecond")
	skills, warnings := Skills([]string{root})
	if len(skills) != 1 || skills[0].Description != "second" || len(warnings) != 1 || !strings.Contains(warnings[0], filepath.Join(root, "a", "SKILL.md")) {
		t.Errorf("got %+v, %q", skills, warnings)
	}
}

func TestSkillsFollowLinksAndRefuseWhatIsNoFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // making links needs a right there that tests may not have
	}
	root, elsewhere := t.TempDir(), t.TempDir()
	writeSkill(t, elsewhere, "kept", "A skill kept elsewhere.")
	for link, target := range map[string]string{"linked": filepath.Join(elsewhere, "kept"), "nowhere": "none", "file": filepath.Join(elsewhere, "kept", "SKILL.md")} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(root, "odd", "SKILL.md"), 0o777); err != nil {
		t.Fatal(err)
	}
	skills, warnings := Skills([]string{root})
	if len(skills) != 1 || skills[0].Name != "linked" || len(warnings) != 1 || !strings.Contains(warnings[0], "not a regular file") {
		t.Errorf("got %+v, %q", skills, warnings)
	}
}
