package tooling

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"nimlet/session"
)

// A Registry is a set of tools with distinct names, in a fixed order. It never changes after
// NewRegistry: a turn keeps the one it began with. Its methods may be called concurrently.
type Registry struct {
	order  []*entry
	byName map[string]*entry
}

// An entry is a tool with its description, which is asked for once.
type entry struct {
	tool   Tool
	spec   Spec
	schema func() (*checker, error)
}

// validName reports whether providers take a tool of that name: ^[A-Za-z0-9_-]{1,64}$.
func validName(name string) bool {
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
	return len(name) >= 1 && len(name) <= 64 && strings.Trim(name, allowed) == ""
}

// NewRegistry makes a registry of tools. only restricts it to the names it lists; nil keeps all,
// an empty list none. Providers refuse a whole request for one bad tool, so a tool with a bad
// name or with a schema that is no object schema is left out. Of two tools with one name the
// later serves, in the place of the earlier. Each such decision is a warning.
func NewRegistry(tools []Tool, only []string) (r *Registry, warnings []string) {
	r = &Registry{byName: map[string]*entry{}}
	known := map[string]bool{}
	for _, t := range tools {
		spec := t.Spec()
		if reason := unfit(spec); reason != "" {
			warnings = append(warnings, fmt.Sprintf("tool %q is left out: %s", spec.Name, reason))
			continue
		}
		known[spec.Name] = true
		if only != nil && !slices.Contains(only, spec.Name) {
			continue
		}
		if replaced := r.add(t, spec); replaced {
			warnings = append(warnings, fmt.Sprintf("two tools are named %q: the later one serves", spec.Name))
		}
	}
	for _, name := range only {
		if !known[name] {
			warnings = append(warnings, fmt.Sprintf("there is no tool %q to select", name))
		}
	}
	return r, warnings
}

// add puts t in the registry and reports whether it took another's place.
func (r *Registry) add(t Tool, spec Spec) (replaced bool) {
	e := &entry{tool: t, spec: spec, schema: lazyChecker(spec.Schema)}
	if old, ok := r.byName[spec.Name]; ok {
		r.order[slices.Index(r.order, old)] = e
		replaced = true
	} else {
		r.order = append(r.order, e)
	}
	r.byName[spec.Name] = e
	return replaced
}

// unfit says why no provider would take a tool of this description; "" when it is fit.
func unfit(s Spec) string {
	if !validName(s.Name) {
		return "a name is 1 to 64 letters, digits, _ and -"
	}
	var schema map[string]any
	if err := json.Unmarshal(s.Schema, &schema); err != nil {
		return "its schema is not a JSON object"
	}
	if schema["type"] != "object" {
		return `its schema does not say "type": "object"`
	}
	return ""
}

// Lookup returns the tool of that name.
func (r *Registry) Lookup(name string) (Tool, bool) {
	e, ok := r.byName[name]
	if !ok {
		return nil, false
	}
	return e.tool, true
}

// Specs returns the descriptions of all tools or, in plan mode, of those that are PlanSafe.
// The order is the same at each call, so that providers' prompt caches hit.
func (r *Registry) Specs(plan bool) []Spec {
	specs := make([]Spec, 0, len(r.order))
	for _, e := range r.order {
		if !plan || e.spec.PlanSafe() {
			specs = append(specs, e.spec)
		}
	}
	return specs
}

// Check holds call's arguments against the schema of its tool. The error is for the model: one
// line for each violation, with its path and reason.
func (r *Registry) Check(call session.Call) error {
	e, ok := r.byName[call.Name]
	if !ok {
		return fmt.Errorf("there is no tool %q", call.Name)
	}
	c, err := e.schema()
	if err != nil {
		return fmt.Errorf("the schema of tool %s is broken: %w", call.Name, err)
	}
	return c.check(call.Input)
}

// Describe says how an editor heads call and which places it is about: as the tool tells it, or
// by the tool's name.
func Describe(t Tool, call session.Call) (title string, locations []session.Location) {
	if d, ok := t.(Describer); ok {
		title, locations = d.Describe(call)
	}
	if title == "" {
		title = call.Name
	}
	return title, locations
}
