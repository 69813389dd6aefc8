package acptest

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// schemaText is the stable schema of ACP v1, as the TypeScript SDK 2.4.0 publishes it.
//
//go:embed schema.v1.json
var schemaText []byte

// A schema knows which definition each message must match.
type schema struct {
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema
	defs     map[string]map[string]any
}

var loadSchema = sync.OnceValues(func() (*schema, error) {
	s := &schema{compiler: jsonschema.NewCompiler(), compiled: map[string]*jsonschema.Schema{}}
	if err := s.compiler.AddResource("acp.json", bytes.NewReader(schemaText)); err != nil {
		return nil, err
	}
	var root struct {
		Defs map[string]map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(schemaText, &root); err != nil {
		return nil, err
	}
	s.defs = root.Defs
	return s, nil
})

// check says what is wrong with the params or result of a message the agent sent. suffix is
// Request, Response or Notification. Methods beyond the schema, which begin with "_" or "$/", pass.
func (s *schema) check(method, suffix string, body json.RawMessage) error {
	if strings.HasPrefix(method, "_") || strings.HasPrefix(method, "$/") {
		return nil
	}
	def := s.definition(method, suffix)
	if def == "" {
		return fmt.Errorf("the schema has no %s for %s", suffix, method)
	}
	value, err := decodeNumbers(body)
	if err != nil {
		return err
	}
	compiled, err := s.compile(def)
	if err != nil {
		return err
	}
	if err := compiled.Validate(value); err != nil {
		return fmt.Errorf("%s: %#v", def, err)
	}
	return s.checkFields(def, value)
}

func (s *schema) definition(method, suffix string) string {
	for name, def := range s.defs {
		if def["x-method"] == method && strings.HasSuffix(name, suffix) {
			return name
		}
	}
	return ""
}

func (s *schema) compile(def string) (*jsonschema.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.compiled[def]; ok {
		return c, nil
	}
	c, err := s.compiler.Compile("acp.json#/$defs/" + def)
	if err != nil {
		return nil, fmt.Errorf("compiling %s: %w", def, err)
	}
	s.compiled[def] = c
	return c, nil
}

func decodeNumbers(body []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("no JSON: %w", err)
	}
	return v, nil
}

// checkFields finds fields at the root of a type that the schema does not name: it would let them
// pass, and the protocol does not.
func (s *schema) checkFields(def string, value any) error {
	object, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	known := map[string]bool{"_meta": true}
	s.fields(s.defs[def], object, known)
	for field, v := range object {
		if !known[field] {
			return fmt.Errorf("%s has no field %q; it has %v", def, field, slices.Sorted(maps.Keys(known)))
		}
		if field == "update" {
			if err := s.checkFields("SessionUpdate", v); err != nil {
				return err
			}
		}
	}
	return nil
}

// fields collects what a definition names, and of its variants the one whose constants match.
func (s *schema) fields(def map[string]any, object map[string]any, into map[string]bool) {
	if ref, ok := def["$ref"].(string); ok {
		s.fields(s.defs[strings.TrimPrefix(ref, "#/$defs/")], object, into)
	}
	properties, _ := def["properties"].(map[string]any)
	for name := range properties {
		into[name] = true
	}
	for _, keyword := range []string{"allOf", "oneOf", "anyOf"} {
		variants, _ := def[keyword].([]any)
		for _, v := range variants {
			if variant, ok := v.(map[string]any); ok && fits(variant, object) {
				s.fields(variant, object, into)
			}
		}
	}
}

func fits(variant, object map[string]any) bool {
	properties, _ := variant["properties"].(map[string]any)
	for name, p := range properties {
		property, _ := p.(map[string]any)
		if want, ok := property["const"]; ok && object[name] != want {
			return false
		}
	}
	return true
}
