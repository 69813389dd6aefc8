package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"nimlet/session"
	"nimlet/tooling"
)

type readSkill struct{ Config }

type readSkillArgs struct {
	Name string `json:"name"`
}

// Spec implements tooling.Tool.
func (t readSkill) Spec() tooling.Spec {
	return tooling.Spec{
		Name:        "read_skill",
		Description: "Read a skill by name: instructions for a kind of task. Answers its text and the folder it stands in, whose files read can show.",
		Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","minLength":1}},` +
			`"required":["name"],"additionalProperties":false}`),
		Capabilities: []tooling.Capability{tooling.Read},
		Kind:         tooling.KindRead,
		Parallel:     true,
	}
}

// Permission implements tooling.Guarded.
func (t readSkill) Permission(session.Call) tooling.Need { return tooling.Need{Free: true} }

// Describe implements tooling.Describer.
func (t readSkill) Describe(call session.Call) (string, []session.Location) {
	args, err := decode[readSkillArgs](call)
	if err != nil || args.Name == "" {
		return "Read a skill", nil
	}
	return "Read the skill " + args.Name, nil
}

// Run implements tooling.Tool.
func (t readSkill) Run(ctx context.Context, _ tooling.Env, call session.Call) (session.Result, error) {
	args, err := decode[readSkillArgs](call)
	if err != nil {
		return failed(err), nil
	}
	skill, err := t.find(args.Name)
	if err != nil {
		return failed(err), nil
	}
	data, err := skill.read()
	if err != nil {
		return failed(fmt.Errorf("reading the skill %s: %w", skill.Name, err)), nil
	}
	text, _ := decodeText(data)
	return session.Result{
		Output:    fmt.Sprintf("skill %s\nfolder %s\n\n%s", skill.Name, skill.Dir, strings.ToValidUTF8(text, "\uFFFD")),
		Locations: []session.Location{{Path: skill.File}},
	}, nil
}

// read returns the bytes of the skill's file. It may be a link to anywhere: it stands where the
// user, or a project they trust, keeps skills, and no model chose it.
func (s Skill) read() ([]byte, error) {
	path, err := filepath.EvalSymlinks(s.File)
	if err != nil {
		return nil, err
	}
	f, err := openFolder(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer f.root.Close()
	name := filepath.Base(path)
	data, _, err := Place{Path: path, Name: path, Short: path, in: f, rel: name}.read(maxRead)
	return data, err
}

// find returns the skill called name, in any case; exact spelling first.
func (t readSkill) find(name string) (Skill, error) {
	var all []Skill
	if t.Skills != nil {
		all = t.Skills()
	}
	for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		for _, s := range all {
			if same(s.Name, name) {
				return s, nil
			}
		}
	}
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	if len(names) == 0 {
		return Skill{}, fmt.Errorf("there is no skill %q, nor any other", name)
	}
	return Skill{}, fmt.Errorf("there is no skill %q; there are: %s", name, strings.Join(names, ", "))
}
