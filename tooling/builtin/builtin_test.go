package builtin

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v5"

	"nimlet/session"
	"nimlet/tooling"
)

var (
	_ tooling.Describer = read{}
	_ tooling.Guarded   = read{}
	_ tooling.Describer = grep{}
	_ tooling.Guarded   = grep{}
	_ tooling.Describer = glob{}
	_ tooling.Guarded   = glob{}
	_ tooling.Describer = edit{}
	_ tooling.Guarded   = edit{}
	_ tooling.Previewer = edit{}
	_ tooling.Describer = write{}
	_ tooling.Guarded   = write{}
	_ tooling.Previewer = write{}
	_ tooling.Describer = readSkill{}
	_ tooling.Guarded   = readSkill{}
)

func TestToolsAreNineInAFixedOrder(t *testing.T) {
	c := newConfig(t, nil)
	var names, parallel, plan []string
	for _, tool := range Tools(c) {
		spec := tool.Spec()
		names = append(names, spec.Name)
		if spec.Parallel {
			parallel = append(parallel, spec.Name)
		}
		if spec.PlanSafe() {
			plan = append(plan, spec.Name)
		}
	}
	for _, test := range []struct {
		got  []string
		want string
	}{
		{names, "read grep glob edit write bash git read_skill ask_user"},
		{parallel, "read grep glob read_skill"},
		{plan, "read grep glob git read_skill ask_user"},
	} {
		if diff := cmp.Diff(test.want, strings.Join(test.got, " ")); diff != "" {
			t.Error(diff)
		}
	}
}

// Every schema is an object schema that compiles, and takes what the tool takes and nothing else.
func TestSchemas(t *testing.T) {
	good := map[string]string{
		"read": `{"path":"a","start_line":1,"end_line":2}`, "grep": `{"pattern":"a","glob":"*","path":"b","case_insensitive":true,"max_matches":200}`,
		"glob": `{"pattern":"*","path":"a"}`, "edit": `{"path":"a","replacements":[{"old_text":"a","new_text":""}],"expected_version":"x"}`,
		"write": `{"path":"a","content":"","overwrite":true}`, "read_skill": `{"name":"a"}`,
	}
	bad := map[string]string{
		"read": `{"path":"a","start_line":0}`, "grep": `{"pattern":"a","max_matches":201}`, "glob": `{"pattern":""}`,
		"edit": `{"path":"a","replacements":[]}`, "write": `{"path":"a"}`, "read_skill": `{"name":"a","x":1}`,
	}
	for _, tool := range Tools(newConfig(t, nil)) {
		spec := tool.Spec()
		schema, err := jsonschema.CompileString(spec.Name+".json", string(spec.Schema))
		if err != nil {
			t.Errorf("%s: %v", spec.Name, err)
			continue
		}
		if text, ok := good[spec.Name]; ok && schema.Validate(parse(t, text)) != nil {
			t.Errorf("%s does not take %s: %v", spec.Name, text, schema.Validate(parse(t, text)))
		}
		if text, ok := bad[spec.Name]; ok && schema.Validate(parse(t, text)) == nil {
			t.Errorf("%s takes %s", spec.Name, text)
		}
	}
}

func parse(t *testing.T, text string) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	must(t, d.Decode(&v))
	return v
}

// Describe, Permission and Preview meet arguments that no schema has checked.
func TestToolsTakeAnyArguments(t *testing.T) {
	c := newConfig(t, map[string]string{"a": "a"})
	for _, tool := range Tools(c) {
		for _, input := range []string{"", "null", "{}", "[]", `{"path":1}`, `{"path":"../x"}`, `{"path":"a\u0000"}`, `{"pattern":[]}`, `{"path":"a","old_text":null}`, "{"} {
			call := session.Call{ID: "1", Name: tool.Spec().Name, Input: json.RawMessage(input)}
			if title, _ := tooling.Describe(tool, call); title == "" {
				t.Errorf("%s has no title for %s", call.Name, input)
			}
			if g, ok := tool.(tooling.Guarded); ok {
				g.Permission(call)
			}
			if p, ok := tool.(tooling.Previewer); ok && p.Preview(t.Context(), call) != nil {
				t.Errorf("%s shows a change for %s", call.Name, input)
			}
		}
	}
}
