package tooling

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// A checker holds arguments against one compiled schema.
type checker struct{ schema *jsonschema.Schema }

// maxViolations bounds how many violations a model is told of at once.
const maxViolations = 20

// lazyChecker compiles schema at the first use: most tools of a session are never called.
func lazyChecker(schema json.RawMessage) func() (*checker, error) {
	return sync.OnceValues(func() (*checker, error) { return compile(schema) })
}

func compile(schema json.RawMessage) (*checker, error) {
	const url = "tool:schema"
	c := jsonschema.NewCompiler()
	// A schema comes from an extension or a server: it may name no file and no address.
	c.LoadURL = func(string) (io.ReadCloser, error) {
		return nil, errors.New("a schema may refer only to itself")
	}
	if err := c.AddResource(url, bytes.NewReader(schema)); err != nil {
		return nil, err
	}
	compiled, err := c.Compile(url)
	if err != nil {
		return nil, err
	}
	return &checker{compiled}, nil
}

func (c *checker) check(input json.RawMessage) error {
	args, err := decodeObject(input)
	if err != nil {
		return err
	}
	err = c.schema.Validate(args)
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return err
	}
	lines := violations(v, nil)
	slices.Sort(lines) // the library visits properties in no order
	if more := len(lines) - maxViolations; more > 0 {
		lines = append(lines[:maxViolations], fmt.Sprintf("and %d more", more))
	}
	return errors.New(strings.Join(lines, "\n"))
}

// decodeObject reads arguments, keeping numbers as they are spelled.
func decodeObject(input json.RawMessage) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(input))
	d.UseNumber()
	var value any
	err := d.Decode(&value)
	if err == nil {
		if _, trailing := d.Token(); trailing != io.EOF {
			err = errors.New("there is text after the value")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the arguments are not a JSON object: %w", err)
	}
	args, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("the arguments are not a JSON object")
	}
	return args, numbersFit("", args)
}

// numbersFit refuses numbers like 1e999999999, which the schema library cannot hold.
func numbersFit(path string, value any) error {
	switch v := value.(type) {
	case json.Number:
		if _, err := strconv.ParseFloat(string(v), 64); err != nil {
			return fmt.Errorf("%s: the number is out of range", where(path))
		}
	case map[string]any:
		for key, member := range v {
			if err := numbersFit(path+"/"+key, member); err != nil {
				return err
			}
		}
	case []any:
		for i, member := range v {
			if err := numbersFit(path+"/"+strconv.Itoa(i), member); err != nil {
				return err
			}
		}
	}
	return nil
}

// violations collects the leaves of v, which are what the caller can mend, without repeats.
func violations(v *jsonschema.ValidationError, lines []string) []string {
	if len(v.Causes) == 0 {
		line := where(v.InstanceLocation) + ": " + v.Message
		if slices.Contains(lines, line) {
			return lines
		}
		return append(lines, line)
	}
	for _, cause := range v.Causes {
		lines = violations(cause, lines)
	}
	return lines
}

// where names a place in the arguments by its JSON pointer.
func where(pointer string) string {
	if pointer == "" {
		return "arguments"
	}
	return strings.TrimPrefix(pointer, "/")
}
