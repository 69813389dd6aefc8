package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"nimlet/session"
	"nimlet/tooling"
)

// The number of matches grep answers with when it is not told, and at most.
const (
	usualMatches = 80
	maxMatches   = 200
)

type grep struct {
	Config
	ripgrep string // path of rg; "" when it is not installed
}

type grepArgs struct {
	Pattern    string `json:"pattern"`
	Glob       string `json:"glob"`
	Path       string `json:"path"`
	IgnoreCase bool   `json:"case_insensitive"`
	MaxMatches int    `json:"max_matches"` // 0: usualMatches
}

func newGrep(c Config) grep {
	rg, err := exec.LookPath("rg")
	if err != nil || !filepath.IsAbs(rg) {
		rg = "" // one found by a relative PATH may be the workspace's own
	}
	return grep{Config: c, ripgrep: rg}
}

// Spec implements tooling.Tool.
func (t grep) Spec() tooling.Spec {
	return tooling.Spec{
		Name: "grep",
		Description: "Search the contents of files for a regular expression (RE2 syntax), line by line. Answers path:line:text. " +
			"Hidden files are searched; binary files, .git and what .gitignore names are not.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"pattern":{"type":"string","minLength":1,"description":"regular expression, RE2 syntax"},` +
			`"glob":{"type":"string","description":"only files that match, such as *.go (at any depth) or src/**/*.ts"},` +
			`"path":{"type":"string","description":"file or folder to search (default: the workspace, with its additional folders)"},` +
			`"case_insensitive":{"type":"boolean"},` +
			`"max_matches":{"type":"integer","minimum":1,"maximum":200,"description":"default 80"}},` +
			`"required":["pattern"],"additionalProperties":false}`),
		Capabilities: []tooling.Capability{tooling.Read},
		Kind:         tooling.KindSearch,
		Parallel:     true,
	}
}

// Permission implements tooling.Guarded.
func (t grep) Permission(session.Call) tooling.Need { return tooling.Need{Free: true} }

// Describe implements tooling.Describer.
func (t grep) Describe(call session.Call) (string, []session.Location) {
	args, err := decode[grepArgs](call)
	if err != nil || args.Pattern == "" {
		return "Search files", nil
	}
	title := "Search for " + args.Pattern
	if args.Glob != "" {
		title += " in " + args.Glob
	}
	if args.Path == "" {
		return title, nil
	}
	return title + " in " + args.Path, t.Workspace.places(args.Path, 0)
}

// Run implements tooling.Tool.
func (t grep) Run(ctx context.Context, _ tooling.Env, call session.Call) (session.Result, error) {
	args, err := decode[grepArgs](call)
	if err != nil {
		return failed(err), nil
	}
	out, err := t.find(ctx, args)
	return answer(ctx, session.Result{Output: out}, err)
}

// find answers with the lines that match.
func (t grep) find(ctx context.Context, args grepArgs) (string, error) {
	glob := filepath.ToSlash(args.Glob)
	if !doublestar.ValidatePattern(glob) {
		return "", fmt.Errorf("the glob %q is not a valid one: a bracket or brace is not closed", args.Glob)
	}
	q, err := newQuery(args.Pattern, strings.TrimPrefix(glob, "./"), args.IgnoreCase)
	if err != nil {
		return "", fmt.Errorf("reading the pattern %q: %w; RE2 has no look-around and no back-references", args.Pattern, err)
	}
	places, err := t.Workspace.searched(args.Path, ".")
	if err != nil {
		return "", err
	}
	limit := min(maxMatches, args.MaxMatches)
	if limit <= 0 {
		limit = usualMatches
	}
	note := t.unsavedIn(places)
	var out strings.Builder
	more := false
	for left := limit; len(places) > 0 && !more; places = places[1:] {
		var found []match
		found, more, err = t.search(ctx, q, places[0], left)
		if err != nil {
			return "", err
		}
		left -= len(found)
		list(&out, places[0], found)
	}
	switch {
	case more:
		fmt.Fprintf(&out, "[the first %d matches; narrow the pattern, glob or path for the others]\n", limit)
	case out.Len() == 0:
		out.WriteString("no match")
	}
	return note + out.String(), nil
}

// list writes the matches below p as path:line:text.
func list(out *strings.Builder, p Place, found []match) {
	for _, m := range found {
		path := shortBase(p) + m.path
		if m.path == "" {
			path = p.Short
		}
		fmt.Fprintf(out, "%s:%d:%s\n", path, m.line, m.text)
	}
}

// search finds the first limit matches at or below p.
func (t grep) search(ctx context.Context, q query, p Place, limit int) ([]match, bool, error) {
	info, err := p.stat()
	if err != nil {
		return nil, false, p.explain("searching", err)
	}
	if !info.IsDir() {
		return q.searchFile(p, limit)
	}
	q.prefix = shortBase(p)
	if t.ripgrep != "" {
		found, more, err := q.ripgrep(ctx, t.ripgrep, t.Env, p, limit)
		if !errors.Is(err, errNoRipgrep) {
			return found, more, err
		}
	}
	return q.search(ctx, p, limit)
}
