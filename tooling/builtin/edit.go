package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"nimlet/session"
	"nimlet/tooling"
)

type edit struct{ Config }

type editArgs struct {
	Path            string        `json:"path"`
	Old             *string       `json:"old_text"`
	New             *string       `json:"new_text"`
	Replacements    []replacement `json:"replacements"`
	ExpectedVersion string        `json:"expected_version"`
}

// Spec implements tooling.Tool.
func (t edit) Spec() tooling.Spec {
	return tooling.Spec{
		Name: "edit",
		Description: "Change a file by replacing text. Each old_text must occur exactly once in the file; add surrounding lines until it does. " +
			"Give old_text and new_text, or replacements: several such pairs, made in order, all or none. " +
			"White space counts; LF matches CRLF, and the file keeps its line endings.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"path":{"type":"string","minLength":1,"description":"relative to the workspace, or absolute inside it"},` +
			`"old_text":{"type":"string","description":"the text to replace, exactly as it is in the file, without line numbers"},` +
			`"new_text":{"type":"string","description":"what takes its place"},` +
			`"replacements":{"type":"array","minItems":1,"description":"several replacements, each made in the result of the one before",` +
			`"items":{"type":"object","properties":{"old_text":{"type":"string"},"new_text":{"type":"string"}},` +
			`"required":["old_text","new_text"],"additionalProperties":false}},` +
			`"expected_version":{"type":"string","description":"the version that read gave; the edit fails if the file has changed since"}},` +
			`"required":["path"],"additionalProperties":false}`),
		Capabilities: []tooling.Capability{tooling.Read, tooling.Write},
		Kind:         tooling.KindEdit,
	}
}

// Permission implements tooling.Guarded.
func (t edit) Permission(call session.Call) tooling.Need {
	args, err := decode[editArgs](call)
	if err != nil {
		return tooling.Need{Free: true} // the run refuses it
	}
	return t.Workspace.writeNeed(args.Path)
}

// Describe implements tooling.Describer.
func (t edit) Describe(call session.Call) (string, []session.Location) {
	args, err := decode[editArgs](call)
	if err != nil || args.Path == "" {
		return "Edit a file", nil
	}
	return "Edit " + args.Path, t.Workspace.places(args.Path, 0)
}

// Preview implements tooling.Previewer.
func (t edit) Preview(ctx context.Context, call session.Call) []session.Diff {
	return plan(t.plan).preview(ctx, call)
}

// Run implements tooling.Tool.
func (t edit) Run(ctx context.Context, _ tooling.Env, call session.Call) (session.Result, error) {
	return t.carryOut(ctx, call, t.plan, func(d document, text string, first session.Location) string {
		return fmt.Sprintf("edited %s, from line %d on\nversion %s", d.place.Short, first.Line, version(text))
	})
}

// plan finds the file of call and the text it would have, and changes nothing.
func (t edit) plan(ctx context.Context, call session.Call) (document, string, error) {
	args, err := decode[editArgs](call)
	if err != nil {
		return document{}, "", err
	}
	replacements, err := args.all()
	if err != nil {
		return document{}, "", err
	}
	place, err := t.Workspace.Resolve(args.Path, ForWriting)
	if err != nil {
		return document{}, "", err
	}
	d, err := t.load(ctx, place)
	if err == nil && !d.exists {
		err = place.explain("editing", os.ErrNotExist)
	}
	if err != nil {
		return d, "", err
	}
	text, err := apply(d.text, replacements, args.ExpectedVersion)
	if err != nil {
		err = fmt.Errorf("editing %s: %w\nversion now %s; nothing was changed", place.Short, err, version(d.text))
	}
	return d, text, err
}

// all is the replacements of either form of arguments.
func (a editArgs) all() ([]replacement, error) {
	single := a.Old != nil || a.New != nil
	switch {
	case single && len(a.Replacements) > 0:
		return nil, errors.New("give old_text and new_text, or replacements, not both")
	case len(a.Replacements) > 0:
		return a.Replacements, nil
	case a.Old == nil || a.New == nil:
		return nil, errors.New("give both old_text and new_text, or replacements")
	}
	return []replacement{{Old: *a.Old, New: *a.New}}, nil
}

// apply makes replacements in text, each in the result of the one before. expected is the version
// text must have; "" is any.
func apply(text string, replacements []replacement, expected string) (string, error) {
	if expected != "" && expected != version(text) {
		return "", fmt.Errorf("the version has changed: %s was expected; read the file again", expected)
	}
	before := text
	for i, r := range replacements {
		next, err := r.apply(text)
		if err != nil && len(replacements) > 1 {
			err = fmt.Errorf("replacement %d of %d: %w", i+1, len(replacements), err)
		}
		if err != nil {
			return "", err
		}
		text = next
	}
	if text == before {
		return "", errors.New("the replacements together change nothing")
	}
	return text, nil
}
