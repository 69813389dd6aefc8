package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func projectDir(workspace string) string { return filepath.Join(workspace, ".nimlet") }

// ProjectFiles returns what lies in workspace and is used only once the project is trusted, as
// slash-separated paths relative to it (spec: files; seed 000, "Discovery roots compared"); nil when
// there is nothing, so that nobody need be asked. A folder counts when something is in it. What is
// the user's own is no project's, as when workspace is the user's home folder.
func ProjectFiles(h Home, userHome, workspace string) []string {
	var found []string
	if !h.owns(projectDir(workspace)) {
		found = append(found, present(workspace, ".nimlet",
			"config.json", "permissions.json", "SYSTEM.md", "APPEND_SYSTEM.md", "tools", "extensions", "skills", "prompts")...)
	}
	if userHome == "" || !sameFolder(userHome, workspace) {
		found = append(found, present(workspace, ".agents", "extensions", "skills", "prompts")...)
	}
	return append(found, present(workspace, ".agent", "tools", "skills", "prompts")...)
}

// present returns those of names that are in workspace's folder.
func present(workspace, folder string, names ...string) []string {
	var found []string
	for _, name := range names {
		if occupied(filepath.Join(workspace, folder, name)) {
			found = append(found, folder+"/"+name)
		}
	}
	return found
}

// occupied reports whether path is something other than an empty folder.
func occupied(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return err == nil
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	names, _ := f.Readdirnames(1)
	return len(names) > 0
}

// SkillRoots returns the folders that skills are looked for in; those of a later one override those
// of the same name before it (seed 000, "Discovery roots compared"). They need not exist. userHome
// is where ~/.agents lies, "" for nowhere.
func SkillRoots(h Home, userHome, workspace string, trusted bool) []string {
	return roots(h, userHome, workspace, trusted, "skills")
}

// PromptRoots returns the folders that prompt templates are looked for in, as SkillRoots does.
func PromptRoots(h Home, userHome, workspace string, trusted bool) []string {
	return roots(h, userHome, workspace, trusted, "prompts")
}

func roots(h Home, userHome, workspace string, trusted bool, kind string) []string {
	var list []string
	if userHome != "" {
		list = append(list, filepath.Join(userHome, ".agents", kind))
	}
	list = append(list, h.join(kind))
	if trusted {
		for _, folder := range []string{".agent", ".agents", ".nimlet"} {
			list = append(list, filepath.Join(workspace, folder, kind))
		}
	}
	return list
}

// SystemPrompt returns the text that stands in place of the built-in system prompt, "" to keep
// that, and the text to put after it, "" for none. A trusted project's SYSTEM.md wins over the
// user's; the additions of both count, the user's first. A file of white space alone says nothing.
func SystemPrompt(h Home, workspace string, trusted bool) (replace, appended string, problems []Problem) {
	read := func(name string) string {
		data, more, _ := readOptional(name)
		problems = append(problems, more...)
		return strings.TrimSpace(strings.ToValidUTF8(string(data), "\uFFFD"))
	}
	replace, appended = read(h.SystemFile()), read(h.AppendSystemFile())
	project := projectDir(workspace)
	if !trusted || h.owns(project) {
		return replace, appended, problems
	}
	if own := read(filepath.Join(project, "SYSTEM.md")); own != "" {
		replace = own
	}
	if own := read(filepath.Join(project, "APPEND_SYSTEM.md")); own != "" {
		appended = strings.TrimSpace(appended + "\n\n" + own)
	}
	return replace, appended, problems
}

// ProjectPermissions returns the keys that <workspace>/.nimlet/permissions.json allows, as in
// {"allow": ["bash:go test ./..."]}. The caller asks only for a trusted project. What is wrong in
// the file allows nothing.
func ProjectPermissions(workspace string) ([]string, []Problem) {
	file := filepath.Join(projectDir(workspace), "permissions.json")
	data, problems, ok := readOptional(file)
	if !ok {
		return nil, problems
	}
	root, err := parse(data)
	if err != nil {
		return nil, []Problem{{File: file, Text: fmt.Sprintf("%v; the whole file is left out", err)}}
	}
	var permissions struct {
		Allow []string `json:"allow"`
	}
	f := filler{source: source{file: file}}
	f.fill(&permissions, root)
	return permissions.Allow, limited(file, f.problems)
}
