package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A Template is a prompt that a person keeps in a file and sends as a slash command.
type Template struct {
	Name        string // of the file, in lower case, without .md
	Description string // one line: of the front matter, else the first line that is no heading
	File        string // absolute path
	Text        string // what is sent, before its arguments are put in
}

const maxTemplate = 256 << 10 // bytes

// Templates finds the prompt templates in roots, which are absolute: each NAME.md, in the order of
// their names. One of a later root takes the place of one of the same name (seed 000, "Discovery
// roots compared"). A root that does not exist has none. Each warning names the file it is about.
func Templates(roots []string) (templates []Template, warnings []string) {
	for _, root := range roots {
		for _, file := range templateFiles(root, &warnings) {
			t, err := readTemplate(file)
			if err != nil {
				warnings = append(warnings, fmt.Sprintf("%s: %v", file, err))
			}
			if t.Text == "" {
				continue
			}
			if i := slices.IndexFunc(templates, func(x Template) bool { return x.Name == t.Name }); i >= 0 {
				templates[i] = t
			} else {
				templates = append(templates, t)
			}
		}
	}
	return templates, warnings
}

func templateFiles(root string, warnings *[]string) []string {
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		*warnings = append(*warnings, fmt.Sprintf("looking for prompt templates: %v", err))
	}
	var files []string
	for _, e := range entries {
		if !e.IsDir() && strings.EqualFold(filepath.Ext(e.Name()), ".md") {
			files = append(files, filepath.Join(root, e.Name()))
		}
	}
	return files
}

// readTemplate reads one file. With an error that leaves something to use the template is returned
// as well; its Text is "" otherwise.
func readTemplate(file string) (Template, error) {
	name := strings.ToLower(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)))
	if command, _, _ := ParseCommand("/" + name); command != name {
		return Template{}, fmt.Errorf("%q is no name for a slash command: use letters, digits, _, : and -", name)
	}
	text, err := readStart(file, maxTemplate+1)
	switch {
	case err != nil:
		return Template{}, err
	case len(text) > maxTemplate:
		return Template{}, fmt.Errorf("longer than %d bytes", maxTemplate)
	}
	front, body := splitFrontMatter(text)
	meta, err := parseMeta(front)
	t := Template{Name: name, Description: oneLine(meta.Description), File: file, Text: strings.TrimSpace(body)}
	if t.Text == "" && err == nil {
		err = errors.New("there is no text to send")
	}
	if t.Description == "" {
		t.Description = oneLine(firstLine(body))
	}
	return t, err
}

var templateArgument = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$(ARGUMENTS|@|[1-9])`) })

// TakesArguments reports whether the template has a place for arguments.
func (t Template) TakesArguments() bool { return templateArgument().MatchString(t.Text) }

// Expand puts arguments into the template: $ARGUMENTS and $@ stand for all of them as they were
// typed, $1 to $9 for single ones, which white space parts unless quotes hold it together.
// Arguments of a template that has no place for them are put after it.
func (t Template) Expand(args string) string {
	if !t.TakesArguments() {
		return strings.TrimSpace(t.Text + "\n\n" + args)
	}
	words := splitWords(args)
	return templateArgument().ReplaceAllStringFunc(t.Text, func(m string) string {
		if n := m[1]; n >= '1' && n <= '9' {
			if i := int(n - '1'); i < len(words) {
				return words[i]
			}
			return ""
		}
		return args
	})
}

// splitWords cuts at white space outside of single and double quotes, which are taken off. A quote
// that is never closed is a letter like any other, as in don't.
func splitWords(s string) []string {
	var words []string
	for {
		s = strings.TrimLeft(s, " \t\r\n")
		if s == "" {
			return words
		}
		end := strings.IndexAny(s, " \t\r\n")
		if end < 0 {
			end = len(s)
		}
		word := s[:end]
		if q := s[0]; q == '"' || q == '\'' {
			if closing := strings.IndexByte(s[1:], q); closing >= 0 {
				word, end = s[1:1+closing], closing+2
			}
		}
		words = append(words, word)
		s = s[end:]
	}
}
