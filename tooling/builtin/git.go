package builtin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"nimlet/session"
	"nimlet/tooling"
)

const (
	gitTimeout = time.Minute // for one call of the tool
	gitCommits = 20          // that log shows when no limit is given
)

type git struct{ Config }

type gitArgs struct {
	Operation string `json:"operation"`
	Path      string `json:"path"`
	Commit    string `json:"commit"`
	Limit     int    `json:"limit"` // 0: gitCommits for log, else no limit
}

func newGit(c Config) tooling.Tool { return git{c} }

// Spec implements tooling.Tool.
func (t git) Spec() tooling.Spec {
	return tooling.Spec{
		Name: "git",
		Description: "Look at the git repository; nothing is changed. status: changed files. log: commits. show: a commit, or a file of one as COMMIT:PATH. " +
			"diff: the files on disk against a commit (HEAD when left out), or two commits as A..B. blame: who last changed each line of path.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"operation":{"type":"string","enum":["status","log","show","diff","blame"]},` +
			`"path":{"type":"string","minLength":1,"description":"only this file or folder, relative to the workspace"},` +
			`"commit":{"type":"string","minLength":1,"description":"a hash, branch, tag or other name of a commit; for log and diff also a range A..B"},` +
			`"limit":{"type":"integer","minimum":1,"maximum":1000,"description":"most commits for log (20 when left out), most lines otherwise"}},` +
			`"required":["operation"],"additionalProperties":false}`),
		Capabilities: []tooling.Capability{tooling.Read},
		Kind:         tooling.KindExecute,
	}
}

// Permission implements tooling.Guarded.
func (t git) Permission(session.Call) tooling.Need { return tooling.Need{Free: true} }

// Describe implements tooling.Describer.
func (t git) Describe(call session.Call) (string, []session.Location) {
	args, err := decode[gitArgs](call)
	if err != nil {
		return "", nil
	}
	title := strings.Join(slices.DeleteFunc([]string{"git", args.Operation, args.Commit, args.Path}, func(s string) bool { return s == "" }), " ")
	if args.Path == "" {
		return title, nil
	}
	return title, t.Workspace.places(args.Path, 0)
}

// Run implements tooling.Tool.
func (t git) Run(ctx context.Context, _ tooling.Env, call session.Call) (session.Result, error) {
	args, err := decode[gitArgs](call)
	if err != nil {
		return failed(err), nil
	}
	limited, cancel := context.WithTimeoutCause(ctx, gitTimeout, fmt.Errorf("git took more than %s and was ended; narrow the call by path or commit", gitTimeout))
	defer cancel()
	text, err := t.look(limited, args)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		err = context.Cause(limited)
	}
	return answer(ctx, session.Result{Output: text}, err)
}

// look does one operation.
func (t git) look(ctx context.Context, args gitArgs) (string, error) {
	dir, spec, err := t.place(args.Path)
	if err != nil {
		return "", err
	}
	g, err := t.openGit(ctx, dir)
	if err != nil {
		return "", err
	}
	words, err := g.operation(ctx, args)
	if err != nil {
		return "", err
	}
	if spec != "" || args.Operation == "status" || args.Operation == "diff" {
		words = append(words, "--", cmp.Or(spec, ".")) // "." so that nothing above the workspace is shown
	} else {
		words = append(words, "--")
	}
	lines := args.Limit
	if args.Operation == "log" {
		lines = 0
	}
	text, err := g.run(ctx, lines, words...)
	if err != nil {
		return "", err
	}
	if text == "" {
		text = nothing[args.Operation] + "\n"
	}
	if args.Operation == "log" || args.Operation == "show" {
		return text, nil
	}
	return t.unsavedNote() + text, nil
}

// nothing is what an operation that finds nothing answers.
var nothing = map[string]string{
	"status": "nothing has changed", "log": "no commits", "show": "nothing to show", "diff": "no differences", "blame": "the file is empty",
}

// place returns the folder git is run in and the path that it is told, seen from there. The
// folder is the nearest one that exists, so that the repository found is the one the path is in;
// the path may be one that exists no more. A link is looked at itself, not what it leads to.
func (t git) place(path string) (dir, spec string, err error) {
	if path == "" {
		return t.Workspace.Root(), "", nil
	}
	place, err := t.Workspace.Resolve(path, ForReading)
	if err != nil {
		return "", "", err
	}
	if info, err := os.Stat(place.Path); err == nil && info.IsDir() {
		return place.Path, ".", nil
	}
	dir, spec = filepath.Split(place.Path)
	if above, err := t.Workspace.Resolve(filepath.Dir(place.Asked), ForReading); err == nil {
		dir, spec = above.Path, filepath.Base(place.Asked)
	}
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() || dir == filepath.Dir(dir) {
			return dir, filepath.ToSlash(spec), nil
		}
		spec = filepath.Join(filepath.Base(dir), spec)
	}
}

// operation returns the words of a call of git up to the paths.
func (g *gitRepo) operation(ctx context.Context, args gitArgs) (words []string, err error) {
	var commit []string
	if args.Commit != "" {
		name, err := g.verify(ctx, args)
		if err != nil {
			return nil, err
		}
		commit = []string{name}
	}
	patch := []string{"--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short", "--ignore-submodules=dirty"}
	switch args.Operation {
	case "status":
		if args.Commit != "" {
			return nil, errors.New("status takes no commit; diff compares the files with one")
		}
		return []string{"status", "--short", "--branch", "--ignore-submodules=dirty"}, nil
	case "log":
		limit := args.Limit
		if limit == 0 {
			limit = gitCommits
		}
		words = []string{"log", "--no-show-signature", "--no-color", "--date=iso-strict", "--format=%h %ad %an:%d %s", "-n", strconv.Itoa(limit)}
	case "show":
		words = append([]string{"show", "--no-show-signature", "--format=medium", "--stat", "--patch", "--cc"}, patch...)
	case "diff":
		words = append([]string{"diff"}, patch...)
		if commit == nil && g.has(ctx, "HEAD") {
			commit = []string{"HEAD"}
		}
	case "blame":
		if args.Path == "" {
			return nil, errors.New("blame needs a path")
		}
		words = []string{"blame", "--no-textconv", "--date=short"}
		if args.Limit > 0 {
			words = append(words, "-L", "1,"+strconv.Itoa(args.Limit))
		}
	default:
		return nil, fmt.Errorf("there is no operation %q; there are status, log, show, diff and blame", args.Operation)
	}
	return append(words, commit...), nil
}

// verify returns the hash that args.Commit names, or the hashes of a range, so that what git is
// told can be nothing else.
func (g *gitRepo) verify(ctx context.Context, args gitArgs) (string, error) {
	if args.Operation == "log" || args.Operation == "diff" {
		for _, dots := range []string{"...", ".."} {
			from, to, isRange := strings.Cut(args.Commit, dots)
			if !isRange {
				continue
			}
			from, err := g.hash(ctx, cmp.Or(from, "HEAD"))
			if err != nil {
				return "", err
			}
			if to, err = g.hash(ctx, cmp.Or(to, "HEAD")); err != nil {
				return "", err
			}
			return from + dots + to, nil
		}
	}
	return g.hash(ctx, args.Commit)
}

func (g *gitRepo) hash(ctx context.Context, name string) (string, error) {
	if strings.HasPrefix(name, "-") {
		return "", fmt.Errorf("a commit's name does not begin with -: %q", name)
	}
	text, err := g.run(ctx, 0, "rev-parse", "--verify", name)
	if err != nil {
		return "", fmt.Errorf("there is no commit %q here: %w", name, err)
	}
	return strings.TrimSpace(text), nil
}

func (g *gitRepo) has(ctx context.Context, name string) bool {
	_, err := g.hash(ctx, name)
	return err == nil
}

// A bounded writer holds the begin of a text and ends its writer when there is more.
type bounded struct {
	bytes.Buffer
	bytesLeft int
	linesLeft int // 0: as many as there are
	cut       bool
	stop      func()
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	n := len(p)
	if b.cut {
		return n, nil
	}
	take := p
	if b.linesLeft > 0 {
		for i, c := range p {
			if c != '\n' {
				continue
			}
			if b.linesLeft--; b.linesLeft == 0 {
				take, b.cut = p[:i+1], true
				break
			}
		}
	}
	if len(take) > b.bytesLeft {
		take, b.cut = take[:b.bytesLeft], true
	}
	b.Buffer.Write(take)
	b.bytesLeft -= len(take)
	if b.cut {
		b.stop()
	}
	return n, nil
}
