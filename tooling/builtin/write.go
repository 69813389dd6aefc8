package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"nimlet/session"
	"nimlet/tooling"
)

type write struct{ Config }

type writeArgs struct {
	Path      string `json:"path"`
	Content   string `json:"content"`
	Overwrite bool   `json:"overwrite"`
}

// Spec implements tooling.Tool.
func (t write) Spec() tooling.Spec {
	return tooling.Spec{
		Name: "write",
		Description: "Write a whole file, making its folders. A file that exists is replaced only with overwrite; " +
			"to change a part of one, use edit. A replaced file keeps its encoding, and its line endings if they are all CRLF.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"path":{"type":"string","minLength":1,"description":"relative to the workspace, or absolute inside it"},` +
			`"content":{"type":"string","description":"the whole text of the file"},` +
			`"overwrite":{"type":"boolean","description":"replace the file if it exists (default false)"}},` +
			`"required":["path","content"],"additionalProperties":false}`),
		Capabilities: []tooling.Capability{tooling.Read, tooling.Write},
		Kind:         tooling.KindEdit,
	}
}

// Permission implements tooling.Guarded.
func (t write) Permission(call session.Call) tooling.Need {
	args, err := decode[writeArgs](call)
	if err != nil {
		return tooling.Need{Free: true} // the run refuses it
	}
	return t.Workspace.writeNeed(args.Path)
}

// Describe implements tooling.Describer.
func (t write) Describe(call session.Call) (string, []session.Location) {
	args, err := decode[writeArgs](call)
	if err != nil || args.Path == "" {
		return "Write a file", nil
	}
	return "Write " + args.Path, t.Workspace.places(args.Path, 0)
}

// Preview implements tooling.Previewer.
func (t write) Preview(ctx context.Context, call session.Call) []session.Diff {
	return plan(t.plan).preview(ctx, call)
}

// Run implements tooling.Tool.
func (t write) Run(ctx context.Context, _ tooling.Env, call session.Call) (session.Result, error) {
	return t.carryOut(ctx, call, t.plan, func(d document, text string, _ session.Location) string {
		did := "created"
		if d.exists {
			did = "replaced"
		}
		return fmt.Sprintf("%s %s, %d lines\nversion %s", did, d.place.Short, countLines(text), version(text))
	})
}

// plan finds the file of call and the text it would have, and changes nothing.
func (t write) plan(ctx context.Context, call session.Call) (document, string, error) {
	args, err := decode[writeArgs](call)
	if err != nil {
		return document{}, "", err
	}
	place, err := t.Workspace.Resolve(args.Path, ForWriting)
	if err != nil {
		return document{}, "", err
	}
	d, err := t.load(ctx, place)
	if err != nil {
		return d, "", err
	}
	if d.exists && !args.Overwrite {
		return d, "", fmt.Errorf("%s exists (%d lines, version %s) and was left as it is; change it with edit, or pass overwrite to replace it", place.Short, countLines(d.text), version(d.text))
	}
	text := strings.TrimPrefix(args.Content, bom)
	if len(text) < len(args.Content) && d.form == plain {
		d.form = marked
	}
	if endings(d.text) == "CRLF" {
		text = toCRLF(text)
	}
	if _, err := encodeText(text, d.form); err != nil {
		d.form = plain // the old encoding cannot hold the new text, and none of the old is left
	}
	return d, text, nil
}
