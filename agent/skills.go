package agent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// A Skill is a text that a model may read when its description fits the task. Only its name and
// description are in the prompt.
type Skill struct {
	Name        string // of the front matter, else of the folder
	Description string // one line: of the front matter, else the first line that is no heading
	Dir         string // absolute folder
	File        string // absolute path of its SKILL.md
}

const (
	skillFile      = "SKILL.md"
	maxSkillHead   = 64 << 10 // bytes in which front matter and first line must stand
	maxDescription = 1000     // bytes; it is in every request
)

// Skills finds the skills below roots, which are absolute: each folder in one that holds a
// SKILL.md, in the order of their names. A skill of a later root takes the place of one of the
// same name, in any case (seed 000, "Discovery roots compared"). A root that does not exist has
// none. Each warning names the file it is about.
func Skills(roots []string) (skills []Skill, warnings []string) {
	for _, root := range roots {
		var here []Skill
		for _, dir := range skillFolders(root, &warnings) {
			s, err := readSkill(dir)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				warnings = append(warnings, fmt.Sprintf("%s: %v", filepath.Join(dir, skillFile), err))
			}
			if s.Name == "" {
				continue
			}
			if i := indexSkill(here, s.Name); i >= 0 {
				warnings = append(warnings, fmt.Sprintf("%s: the skill %q of %s takes its place", here[i].File, s.Name, s.File))
			}
			here = putSkill(here, s)
		}
		for _, s := range here {
			skills = putSkill(skills, s)
		}
	}
	return skills, warnings
}

// skillFolders lists the folders in root, sorted, and those that links lead to.
func skillFolders(root string, warnings *[]string) []string {
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		*warnings = append(*warnings, fmt.Sprintf("looking for skills: %v", err))
	}
	var dirs []string
	for _, e := range entries {
		if e.IsDir() || e.Type()&fs.ModeSymlink != 0 {
			dirs = append(dirs, filepath.Join(root, e.Name()))
		}
	}
	return dirs
}

func indexSkill(skills []Skill, name string) int {
	return slices.IndexFunc(skills, func(s Skill) bool { return strings.EqualFold(s.Name, name) })
}

// putSkill adds s, or puts it where the one of its name was.
func putSkill(skills []Skill, s Skill) []Skill {
	if i := indexSkill(skills, s.Name); i >= 0 {
		skills[i] = s
		return skills
	}
	return append(skills, s)
}

// readSkill reads the skill in dir. With an error that leaves something to use the skill is
// returned as well; its Name is "" otherwise.
func readSkill(dir string) (Skill, error) {
	file := filepath.Join(dir, skillFile)
	text, err := readHead(file)
	if err != nil {
		return Skill{}, err
	}
	s := Skill{Dir: dir, File: file}
	front, body := splitFrontMatter(text)
	meta, err := parseMeta(front)
	s.Name, s.Description = oneLine(meta.Name), oneLine(meta.Description)
	if s.Name == "" {
		s.Name = filepath.Base(dir)
	}
	if s.Description == "" {
		s.Description = oneLine(firstLine(body))
	}
	if s.Description == "" && err == nil {
		err = errors.New("the skill has no description; give it one, so that a model knows when to read it")
	}
	return s, err
}

// readHead returns the beginning of a SKILL.md. That its folder is a link to a file, or leads
// nowhere, makes it no skill.
func readHead(file string) (string, error) {
	text, err := readStart(file, maxSkillHead)
	if err != nil {
		if parent, statErr := os.Stat(filepath.Dir(file)); statErr != nil || !parent.IsDir() {
			return "", fs.ErrNotExist
		}
	}
	return text, err
}

// readStart returns the first n bytes of a regular file as text with LF. Anything else is not
// opened: a pipe would block.
func readStart(file string, n int64) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("not a regular file")
	}
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, n))
	return strings.ToValidUTF8(strings.ReplaceAll(strings.TrimPrefix(string(data), "\uFEFF"), "\r\n", "\n"), "\uFFFD"), err
}

// splitFrontMatter cuts text after a front matter between two lines of ---; front is "" when there
// is none.
func splitFrontMatter(text string) (front, body string) {
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return "", text
	}
	for offset := 0; offset < len(rest); {
		line, _, _ := strings.Cut(rest[offset:], "\n")
		if strings.TrimRight(line, " \t") == "---" {
			return rest[:offset], rest[min(len(rest), offset+len(line)+1):]
		}
		offset += len(line) + 1
	}
	return "", text
}

// A meta is the front matter of a skill or a template.
type meta struct {
	Name        string `yaml:"name"`
	Description string `yaml:"description"`
}

// parseMeta reads a front matter. Where it is no YAML, as with a colon in an unquoted
// description, the text of its lines is used, and the error says so.
func parseMeta(front string) (meta, error) {
	var m meta
	err := yaml.Unmarshal([]byte(front), &m)
	if err == nil {
		return m, nil
	}
	for line := range strings.Lines(front) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		switch key {
		case "name":
			m.Name = value
		case "description":
			m.Description = value
		}
	}
	return m, fmt.Errorf("the front matter is no YAML, its lines are taken as they are: %w; quote a text that has a colon", err)
}

// firstLine is the first line of a Markdown text that is neither blank nor a heading.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	return ""
}

// oneLine is text on one line, and not a long one.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxDescription {
		text = strings.ToValidUTF8(text[:maxDescription], "") + "…"
	}
	return text
}
