package tooling

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nimlet/session"
)

func names(specs []Spec) (names []string) {
	for _, s := range specs {
		names = append(names, s.Name)
	}
	return names
}

func TestRegistryKeepsOrderAndTheLaterOfTwo(t *testing.T) {
	later := plain{name: "b", schema: `{"type": "object", "title": "later"}`}
	r, warnings := NewRegistry([]Tool{plain{name: "a"}, plain{name: "b"}, plain{name: "c"}, later}, nil)
	if diff := cmp.Diff([]string{"a", "b", "c"}, names(r.Specs(false))); diff != "" {
		t.Error(diff)
	}
	if tool, ok := r.Lookup("b"); !ok || string(tool.Spec().Schema) != later.schema {
		t.Errorf("b is %v", tool)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], `"b"`) {
		t.Errorf("warnings %q", warnings)
	}
	if _, ok := r.Lookup("d"); ok {
		t.Error("there is a tool d")
	}
}

func TestRegistryLeavesOutWhatProvidersRefuse(t *testing.T) {
	bad := []Tool{
		plain{name: ""}, plain{name: "a b"}, plain{name: "naïve"}, plain{name: strings.Repeat("x", 65)}, plain{name: "x\n"},
		plain{name: "s1", schema: `[]`}, plain{name: "s2", schema: `{"type": "string"}`}, plain{name: "s3", schema: `{}`},
		plain{name: "s4", schema: `{"type": "object"`}, plain{name: "s5", schema: `null`},
	}
	r, warnings := NewRegistry(append(bad, plain{name: strings.Repeat("x", 64)}), nil)
	if len(r.Specs(false)) != 1 || len(warnings) != len(bad) {
		t.Errorf("kept %q, warned %q", names(r.Specs(false)), warnings)
	}
}

func TestRegistryOfSelectedTools(t *testing.T) {
	tools := []Tool{plain{name: "a"}, plain{name: "b"}}
	r, warnings := NewRegistry(tools, []string{"b", "z"})
	if got := names(r.Specs(false)); !cmp.Equal(got, []string{"b"}) {
		t.Errorf("got %q", got)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], `"z"`) {
		t.Errorf("warnings %q", warnings)
	}
	if r, warnings := NewRegistry(tools, []string{}); len(r.Specs(false)) > 0 || len(warnings) > 0 {
		t.Errorf("of an empty selection: %q, %q", names(r.Specs(false)), warnings)
	}
}

func TestPlanModeOffersWhatOnlyReads(t *testing.T) {
	r, _ := NewRegistry([]Tool{
		plain{name: "read", caps: []Capability{Read}}, plain{name: "ask", caps: []Capability{User, Read}},
		plain{name: "edit", caps: []Capability{Read, Write}}, plain{name: "unknown"},
	}, nil)
	if got := names(r.Specs(true)); !cmp.Equal(got, []string{"read", "ask"}) {
		t.Errorf("got %q", got)
	}
}

func TestCheckTellsEachViolation(t *testing.T) {
	r, _ := NewRegistry([]Tool{
		plain{name: "edit", schema: `{"type": "object", "required": ["path"], "additionalProperties": false, "properties": {
			"path": {"type": "string", "minLength": 1}, "limit": {"type": "integer", "minimum": 1, "maximum": 200},
			"replacements": {"type": "array", "items": {"type": "object", "required": ["old_text"], "properties": {"old_text": {"type": "string"}}}}}}`},
		plain{name: "broken", schema: `{"type": "object", "properties": {"x": {"type": 7}}}`},
		plain{name: "remote", schema: `{"type": "object", "properties": {"x": {"$ref": "http://127.0.0.1:1/s.json"}}}`},
		plain{name: "local", schema: `{"type": "object", "properties": {"x": {"$ref": "file:///etc/passwd"}}}`},
		plain{name: "inner", schema: `{"type": "object", "properties": {"x": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "number"}}}`},
	}, nil)
	for _, test := range []struct{ tool, input, want string }{
		{"edit", `{"path": "a"}`, ""},
		{"edit", `{"path": "a", "limit": 200}`, ""},
		{"edit", `{"path": "a", "limit": 2.0}`, ""},
		{"edit", `{}`, "arguments: missing properties: 'path'"},
		{"edit", `{"path": 7}`, "path: expected string, but got number"},
		{"edit", `{"path": "a", "limit": 9007199254740993}`, "limit: must be <= 200 but found 9007199254740993"},
		{"edit", `{"path": "a", "limit": 1e999999999}`, "limit: the number is out of range"},
		{"edit", `{"path": "a", "x": 1}`, "arguments: additionalProperties 'x' not allowed"},
		{"edit", `{"path": 1, "replacements": [{"old_text": "a"}, {}]}`, "path: expected string, but got number\nreplacements/1: missing properties: 'old_text'"},
		{"edit", `[]`, "the arguments are not a JSON object"},
		{"edit", `null`, "the arguments are not a JSON object"},
		{"edit", `"path"`, "the arguments are not a JSON object"},
		{"edit", `{"path": "a"} {}`, "the arguments are not a JSON object: there is text after the value"},
		{"edit", `{"path": `, "the arguments are not a JSON object: unexpected EOF"},
		{"edit", ``, "the arguments are not a JSON object: EOF"},
		{"broken", `{"x": 1}`, "the schema of tool broken is broken: …"},
		{"remote", `{"x": 1}`, "the schema of tool remote is broken: …"},
		{"local", `{"x": 1}`, "the schema of tool local is broken: …"},
		{"inner", `{"x": 1}`, ""},
		{"inner", `{"x": "1"}`, "x: expected number, but got string"},
		{"none", `{}`, `there is no tool "none"`},
	} {
		got := ""
		if err := r.Check(session.Call{Name: test.tool, Input: json.RawMessage(test.input)}); err != nil {
			got = err.Error()
		}
		want, open := strings.CutSuffix(test.want, "…")
		if got != want && !(open && strings.HasPrefix(got, want)) {
			t.Errorf("%s %s: got %q, want %q", test.tool, test.input, got, test.want)
		}
	}
}

func TestCheckBoundsWhatItTells(t *testing.T) {
	r, _ := NewRegistry([]Tool{plain{name: "x", schema: `{"type": "object", "additionalProperties": {"type": "string"}}`}}, nil)
	input := map[string]int{}
	for _, a := range "abcdefghij" {
		for _, b := range "abcdefghij" {
			input[string(a)+string(b)] = 1
		}
	}
	text, _ := json.Marshal(input)
	err := r.Check(session.Call{Name: "x", Input: text})
	if err == nil || strings.Count(err.Error(), "\n") != maxViolations || !strings.HasSuffix(err.Error(), "and 80 more") {
		t.Errorf("got %v", err)
	}
}

type described struct{ plain }

func (described) Describe(session.Call) (string, []session.Location) {
	return "Read a", []session.Location{{Path: "/a"}}
}

func TestDescribe(t *testing.T) {
	if title, places := Describe(described{}, session.Call{Name: "read"}); title != "Read a" || len(places) != 1 {
		t.Errorf("got %q, %v", title, places)
	}
	if title, places := Describe(plain{}, session.Call{Name: "save_note"}); title != "save_note" || places != nil {
		t.Errorf("got %q, %v", title, places)
	}
}
