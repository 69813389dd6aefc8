package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"nimlet/agent/config"
	"nimlet/session"
	"nimlet/tooling"
	"nimlet/tooling/builtin"
)

// The documentation is tested: what it shows is loaded, judged or run, and its links lead somewhere.
// The info string of a fenced block says how:
//
//	console           a session at a shell, run from top to bottom (docs_unix_test.go)
//	json              JSON values; json permissions, json trust, json grants, json config and json auth are
//	                  loaded as such a file
//	jsonl session     a session's file; jsonl partial is the text streamed beside the one before it
//	sh dangerous      commands, one a line, that are found dangerous; sh unclear, that are asked about
//	                  every time for another reason; sh remembered, whose answer can be remembered
//
// All other blocks are only read.

// A block is one fenced block of a page.
type block struct {
	page string // its path from the root
	line int    // of its first line
	info string
	text string
}

func (b block) String() string { return fmt.Sprintf("%s:%d (%s)", b.page, b.line, b.info) }

// pages returns what a person reads, with slashes, from the root.
func pages(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob("docs/*.md")
	if err != nil || len(list) == 0 {
		t.Fatalf("no page in docs: %v", err)
	}
	for i := range list {
		list[i] = filepath.ToSlash(list[i])
	}
	return append(list, "README.md")
}

func pageText(t *testing.T, page string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash(page))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(data), "\r\n", "\n")
}

// fences cuts a page into its fenced blocks, and the prose around them. A fence is closed by one that
// is as long, so that a block may show shorter ones.
func fences(t *testing.T, page string) (blocks []block, prose string) {
	t.Helper()
	mark := ""
	var open block
	for i, line := range strings.Split(pageText(t, page), "\n") {
		ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case mark == "" && len(ticks) >= 3:
			mark = ticks
			open = block{page: page, line: i + 2, info: strings.TrimSpace(line[len(ticks):])}
		case mark == "":
			prose += line + "\n"
		case line == mark:
			mark = ""
			blocks = append(blocks, open)
		default:
			open.text += line + "\n"
		}
	}
	if mark != "" {
		t.Errorf("%v is not closed", open)
	}
	return blocks, prose
}

// shown returns the blocks of all pages whose info string begins with one of the words.
func shown(t *testing.T, infos ...string) (found []block) {
	t.Helper()
	for _, page := range pages(t) {
		blocks, _ := fences(t, page)
		for _, b := range blocks {
			if slices.Contains(infos, b.info) {
				found = append(found, b)
			}
		}
	}
	if len(found) == 0 {
		t.Fatalf("the documentation shows no %v", infos)
	}
	return found
}

func TestDocumentedJSONIsJSON(t *testing.T) {
	for _, b := range shown(t, "json", "json permissions", "json trust", "json grants", "json config", "json auth", "jsonl session", "jsonl partial") {
		d := json.NewDecoder(strings.NewReader(b.text))
		for {
			var value any
			err := d.Decode(&value)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Errorf("%v: %v", b, err)
				break
			}
		}
	}
}

func TestDocumentedPermissionsAreRead(t *testing.T) {
	for _, b := range shown(t, "json permissions") {
		dir := t.TempDir()
		putFile(t, filepath.Join(dir, ".nimlet", "permissions.json"), b.text)
		if keys, problems := config.ProjectPermissions(dir); len(keys) == 0 || len(problems) > 0 {
			t.Errorf("%v allows %q and has the problems %v", b, keys, problems)
		}
	}
	for _, b := range shown(t, "json grants") {
		var file struct{ Folders map[string][]string }
		if err := json.Unmarshal([]byte(b.text), &file); err != nil || len(file.Folders) == 0 {
			t.Fatalf("%v: %v", b, err)
		}
		path := filepath.Join(t.TempDir(), "grants.json")
		putFile(t, path, b.text)
		for folder, keys := range file.Folders {
			grants := tooling.NewPermissions(tooling.PermissionsConfig{
				Folder: folder, GrantsFile: path, Warn: func(text string) { t.Errorf("%v: %s", b, text) },
			}).Grants()
			if len(grants) != len(keys) {
				t.Errorf("%v grants %v in %s", b, grants, folder)
			}
		}
	}
}

func TestDocumentedTrustIsRead(t *testing.T) {
	for _, b := range shown(t, "json trust") {
		dir := t.TempDir()
		quoted, err := json.Marshal(dir)
		if err != nil {
			t.Fatal(err)
		}
		// The folder that the page trusts is not on this machine; one that is takes its place.
		text := regexp.MustCompile(`"/[^"]*": true`).ReplaceAllLiteralString(b.text, string(quoted)+": true")
		home := config.Home(t.TempDir())
		putFile(t, home.TrustFile(), text)
		if trust, err := home.Trust(dir); trust != config.Trusted || err != nil {
			t.Errorf("%v: %v, %v", b, trust, err)
		}
	}
}

// A documented session has to load without a word, and hold no event that nimlet does not know.
func TestDocumentedSessionsLoad(t *testing.T) {
	var dir, id string
	for _, b := range shown(t, "jsonl session", "jsonl partial") {
		if b.info == "jsonl partial" {
			putFile(t, filepath.Join(dir, id+".partial"), b.text)
			warns(t, b, dir, id, "interrupted")
			continue
		}
		var header struct{ ID string }
		if err := json.NewDecoder(strings.NewReader(b.text)).Decode(&header); err != nil {
			t.Fatalf("%v: %v", b, err)
		}
		dir, id = t.TempDir(), header.ID
		putFile(t, filepath.Join(dir, id+".jsonl"), b.text)
		for i, e := range warns(t, b, dir, id, "") {
			switch e := e.(type) {
			case session.Unknown:
				t.Errorf("%v: line %d is not known", b, i+2)
			case session.Extension:
				if _, ok := session.MarkOf(e); !ok && e.Extension == session.Reserved {
					t.Errorf("%v: line %d is no record of nimlet", b, i+2)
				}
			}
		}
	}
}

// warns loads a session, which must give one warning with want in it, or none for "".
func warns(t *testing.T, b block, dir, id, want string) (events []session.Event) {
	t.Helper()
	store, err := session.Load(dir, id)
	if err != nil {
		t.Fatalf("%v: %v", b, err)
	}
	defer store.Close()
	for _, e := range store.All() {
		events = append(events, e)
	}
	warnings := store.Warnings()
	if want == "" && len(warnings) > 0 || want != "" && (len(warnings) != 1 || !strings.Contains(warnings[0], want)) {
		t.Errorf("%v: it warns %q, want %q", b, warnings, want)
	}
	return events
}

func TestDocumentedCommandsAreJudgedAsTheyAreSaidToBe(t *testing.T) {
	for _, b := range shown(t, "sh dangerous", "sh unclear", "sh remembered") {
		for line := range strings.Lines(b.text) {
			line = strings.TrimRight(line, "\n")
			reason, dangerous := tooling.JudgeShell(line)
			said := "sh remembered"
			if dangerous {
				said = "sh dangerous"
			} else if reason != "" {
				said = "sh unclear"
			}
			if line == "" || said != b.info {
				t.Errorf("%v: %q is %s (%s)", b, line, said, reason)
			}
		}
	}
}

// The page names the dangerous commands, those of git apart.
func TestCommandsSaidToBeDangerousAre(t *testing.T) {
	_, list, _ := strings.Cut(pageText(t, "docs/permissions.md"), "\n## Dangerous commands\n")
	list, _, found := strings.Cut(list, "; of `git`")
	names := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(list, -1)
	if !found || len(names) < 20 {
		t.Fatalf("the page names %d", len(names))
	}
	for _, name := range names {
		if _, dangerous := tooling.JudgeShell(name[1] + " x"); !dangerous {
			t.Errorf("%s is not dangerous", name[1])
		}
	}
}

// Every tool has its heading, and every argument its line, in the page about tools.
func TestEveryToolIsDocumented(t *testing.T) {
	text := pageText(t, "docs/tools.md")
	sections := map[string]string{}
	for _, section := range strings.Split(text, "\n## ")[1:] {
		heading, body, _ := strings.Cut(section, "\n")
		sections[heading] = body
	}
	for _, tool := range builtin.Tools(builtin.Config{}) {
		spec := tool.Spec()
		body, ok := sections[spec.Name]
		if !ok {
			t.Errorf("there is no section about %s", spec.Name)
		}
		var schema struct{ Properties map[string]any }
		if err := json.Unmarshal(spec.Schema, &schema); err != nil {
			t.Fatal(err)
		}
		for name := range schema.Properties {
			if !strings.Contains(body, "| `"+name+"` |") {
				t.Errorf("the section about %s has no line for %s", spec.Name, name)
			}
		}
	}
}

func putFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
