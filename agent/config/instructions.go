package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// An Instruction is one AGENTS.md. It widens no right and needs no trust: it is text like any other
// in the workspace.
type Instruction struct {
	File string // absolute path
	Own  bool   // the user's, not the project's
	Text string // never blank
}

const instructionsName = "AGENTS.md"

// Instructions returns the user's AGENTS.md, then those of the project from the repository's root
// down to workspace (spec: files). Without a repository only the workspace's own counts.
func Instructions(h Home, workspace string) ([]Instruction, []Problem) {
	var list []Instruction
	var problems []Problem
	files := InstructionFiles(h, workspace)
	root := filepath.Dir(files[1])
	for i, file := range files {
		own := i == 0
		if !own && sameFolder(file, h.InstructionsFile()) {
			continue
		}
		text, more := readInstruction(file, own, root)
		problems = append(problems, more...)
		if text != "" {
			list = append(list, Instruction{File: file, Own: own, Text: text})
		}
	}
	return list, problems
}

// readInstruction reads one AGENTS.md, "" when there is none. A link of a project must not lead out of
// it: its target would be put before a model without anybody having asked for it.
func readInstruction(file string, own bool, within string) (string, []Problem) {
	target, err := filepath.EvalSymlinks(file)
	if err != nil {
		return "", nil
	}
	root, err := filepath.EvalSymlinks(within)
	if rel, relErr := filepath.Rel(root, target); !own && (err != nil || relErr != nil || !filepath.IsLocal(rel)) {
		return "", []Problem{{File: file, Text: "leads out of the project, so it is left out"}}
	}
	data, problems, _ := readOptional(target)
	return strings.TrimSpace(strings.ToValidUTF8(strings.TrimPrefix(string(data), "\uFEFF"), "\uFFFD")), problems
}

// InstructionFiles returns the paths that Instructions looks at, whether or not there is a file.
func InstructionFiles(h Home, workspace string) []string {
	files := []string{h.InstructionsFile()}
	for _, dir := range repositoryPath(workspace) {
		files = append(files, filepath.Join(dir, instructionsName))
	}
	return files
}

// repositoryPath returns the folders from the root of the repository that workspace is in down to
// workspace; workspace alone when it is in none.
func repositoryPath(workspace string) []string {
	var path []string
	for dir := workspace; ; dir = filepath.Dir(dir) {
		path = append(path, dir)
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			slices.Reverse(path)
			return path
		}
		if dir == filepath.Dir(dir) {
			return []string{workspace}
		}
	}
}

// Nearby returns the AGENTS.md files that stand in the folders from below root down to that of
// file, outermost first, which are not in the prompt because they are about a part of the project.
// file is a path in root; for any other there is none.
func Nearby(root, file string) ([]Instruction, []Problem) {
	rel, err := filepath.Rel(root, filepath.Dir(file))
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return nil, nil
	}
	var list []Instruction
	var problems []Problem
	dir := root
	for name := range strings.SplitSeq(rel, string(filepath.Separator)) {
		dir = filepath.Join(dir, name)
		file := filepath.Join(dir, instructionsName)
		text, more := readInstruction(file, false, root)
		problems = append(problems, more...)
		if text != "" {
			list = append(list, Instruction{File: file, Text: text})
		}
	}
	return list, problems
}
