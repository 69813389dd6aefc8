package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// A node is a JSON value that knows its line, so that a Problem can tell it. value is a []member,
// a []node, or what json.Decoder gives for a scalar with UseNumber.
type node struct {
	line  int
	value any
}

type member struct {
	name string
	node
}

// parse reads data, which must be one JSON object. A byte order mark, which some editors of
// Windows put in front, is skipped.
func parse(data []byte) (node, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil { // checks the whole syntax, depth included
		return node{}, located(data, err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	p := parser{d: d, data: data, line: 1}
	root, err := p.node()
	if err != nil {
		return node{}, fmt.Errorf("it is no JSON: %w", err)
	}
	if _, ok := root.value.([]member); !ok {
		return node{}, fmt.Errorf("want a JSON object, got %s", kindOf(root.value))
	}
	return root, nil
}

// located says where in data a syntax error is.
func located(data []byte, err error) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return fmt.Errorf("it is no JSON: %w", err)
	}
	before := data[:max(0, min(int(syntax.Offset)-1, len(data)))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(bytes.ToValidUTF8(before[bytes.LastIndexByte(before, '\n')+1:], []byte("?")))
	return fmt.Errorf("it is no JSON: line %d, column %d: %w", line, column+1, err)
}

type parser struct {
	d      *json.Decoder
	data   []byte
	offset int // up to which lines were counted
	line   int
}

func (p *parser) node() (node, error) {
	token, err := p.d.Token()
	if err != nil {
		return node{}, err
	}
	n := node{line: p.here(), value: token}
	switch token {
	case json.Delim('{'):
		n.value, err = p.members()
	case json.Delim('['):
		n.value, err = p.items()
	}
	return n, err
}

func (p *parser) members() ([]member, error) {
	members := []member{}
	for p.d.More() {
		name, err := p.d.Token()
		if err != nil {
			return nil, err
		}
		n, err := p.node()
		if err != nil {
			return nil, err
		}
		members = append(members, member{name.(string), n})
	}
	_, err := p.d.Token()
	return members, err
}

func (p *parser) items() ([]node, error) {
	items := []node{}
	for p.d.More() {
		n, err := p.node()
		if err != nil {
			return nil, err
		}
		items = append(items, n)
	}
	_, err := p.d.Token()
	return items, err
}

// here returns the line of the token that was read last.
func (p *parser) here() int {
	now := int(p.d.InputOffset())
	p.line += bytes.Count(p.data[p.offset:now], []byte("\n"))
	p.offset = now
	return p.line
}

// plain returns n as encoding/json would decode it into an any, with UseNumber.
func (n node) plain() any {
	switch v := n.value.(type) {
	case []member:
		object := make(map[string]any, len(v))
		for _, m := range v {
			object[m.name] = m.plain()
		}
		return object
	case []node:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = item.plain()
		}
		return list
	default:
		return v
	}
}

func kindOf(value any) string {
	switch value.(type) {
	case []member:
		return "an object"
	case []node:
		return "a list"
	case string:
		return "a text"
	case json.Number:
		return "a number"
	case bool:
		return "true or false"
	default:
		return "null"
	}
}
