package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"nimlet/session"
	"nimlet/tooling"
)

// A script is a person's text, read line by line as commands of the offline model:
//
//	read README.md          plain text: the value of the tool's one required string
//	grep {"pattern": "x"}   a JSON object: the arguments
//	edit {                  the same, going on until the object is complete
//	  "path": …
//	}
//	list                    nothing: a tool that requires no argument
//
// What is meant as a call and cannot be one is answered with a line of help, but for an object that
// is no JSON, which becomes a call with a ParseError. Every other line is echoed.
type script struct {
	tools []tooling.Spec
	rest  string // not read yet
	id    string // that the ids of the calls begin with

	calls  []session.ToolUse
	reply  string // lines of echo and help
	echoed bool   // reply holds text that was no command
}

func (s *script) run() {
	var reply strings.Builder
	for s.rest != "" {
		line, rest, _ := strings.Cut(s.rest, "\n")
		line = strings.TrimSuffix(line, "\r")
		tool, arguments, ok := s.command(line)
		switch {
		case !ok:
			s.rest = rest
			reply.WriteString(line + "\n")
			s.echoed = s.echoed || strings.TrimSpace(line) != ""
		case strings.HasPrefix(arguments, "{"):
			s.rest = s.rest[strings.IndexByte(s.rest, '{'):]
			s.object(tool)
		default:
			s.rest = rest
			if help := s.plain(tool, arguments); help != "" {
				reply.WriteString(help + "\n")
			}
		}
	}
	if s.reply = reply.String(); strings.TrimSpace(s.reply) == "" {
		s.reply = ""
	}
}

// command takes a line apart; ok is false when its first word names no tool.
func (s *script) command(line string) (tool tooling.Spec, arguments string, ok bool) {
	line = strings.TrimSpace(line)
	end := strings.IndexAny(line, " \t{")
	if end < 0 {
		end = len(line)
	}
	i := slices.IndexFunc(s.tools, func(t tooling.Spec) bool { return t.Name == line[:end] })
	if i < 0 {
		return tooling.Spec{}, "", false
	}
	return s.tools[i], strings.TrimSpace(line[end:]), true
}

// object reads the JSON object that s.rest begins with, and the rest of the line it ends in.
func (s *script) object(tool tooling.Spec) {
	d := json.NewDecoder(strings.NewReader(s.rest))
	var input json.RawMessage
	if err := d.Decode(&input); err != nil {
		s.malformed(tool, err)
		return
	}
	after, rest, _ := strings.Cut(s.rest[d.InputOffset():], "\n")
	s.rest = rest
	if after = strings.TrimSpace(after); after != "" {
		s.call(tool, nil, fmt.Sprintf("unexpected text after the JSON object: %q", clip(after)))
		return
	}
	s.call(tool, input, "")
}

// malformed makes a call of an object that is no JSON. It takes the lines up to the one where the
// JSON went wrong, but none that is a command itself: after an object that was not closed, that is
// where it went wrong.
func (s *script) malformed(tool tooling.Spec, err error) {
	wrong := len(s.rest)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		wrong = min(max(0, int(syntax.Offset)-1), wrong)
	} else if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the JSON object is not closed")
	}
	for {
		end := strings.IndexByte(s.rest, '\n')
		if end < 0 {
			s.rest = ""
			break
		}
		wrong -= end + 1
		s.rest = s.rest[end+1:]
		next, _, _ := strings.Cut(s.rest, "\n")
		if _, _, isCommand := s.command(next); wrong < 0 || isCommand {
			break
		}
	}
	s.call(tool, nil, err.Error())
}

// plain makes a call of plain arguments, or returns the line of help that says why it cannot.
func (s *script) plain(tool tooling.Spec, text string) (help string) {
	var schema struct {
		Properties map[string]struct{ Type any }
		Required   []string
	}
	if err := json.Unmarshal(tool.Schema, &schema); err != nil {
		return fmt.Sprintf("%s takes a JSON object, as in: %s", code(tool.Name), code(tool.Name+" {…}"))
	}
	required := schema.Required
	takesText := len(required) == 1 && isString(schema.Properties[required[0]].Type)
	switch {
	case text == "" && len(required) == 0:
		s.call(tool, nil, "")
		return ""
	case text != "" && takesText:
		input, err := json.Marshal(map[string]string{required[0]: text})
		if err != nil {
			return fmt.Sprintf("%s cannot take this text: %v", code(tool.Name), err)
		}
		s.call(tool, input, "")
		return ""
	case takesText:
		return fmt.Sprintf("%s needs its %s, as in: %s", code(tool.Name), code(required[0]), code(tool.Name+" "+strings.ToUpper(required[0])))
	case len(schema.Properties) == 0:
		return code(tool.Name) + " takes no arguments."
	case len(required) == 0:
		return fmt.Sprintf("%s takes its arguments as a JSON object, as in: %s", code(tool.Name), code(tool.Name+" "+example(slices.Sorted(maps.Keys(schema.Properties)))))
	default:
		return fmt.Sprintf("%s needs a JSON object, as in: %s", code(tool.Name), code(tool.Name+" "+example(required)))
	}
}

// call adds a call. No input is an empty object.
func (s *script) call(tool tooling.Spec, input json.RawMessage, parseError string) {
	if input == nil {
		input = json.RawMessage("{}")
	}
	id := fmt.Sprintf("%s%d", s.id, len(s.calls)+1)
	s.calls = append(s.calls, session.ToolUse{Call: session.Call{ID: id, Name: tool.Name, Input: input}, ParseError: parseError})
}

// help is the one line that follows an echo.
func (s *script) help() string {
	if len(s.tools) == 0 {
		return "There is no model that could answer, and no tool is offered."
	}
	names := make([]string, len(s.tools))
	for i, t := range s.tools {
		names[i] = code(t.Name)
	}
	return "There is no model that could answer. Lines that start with a tool's name are run, as in " +
		code("read README.md") + ": " + strings.Join(names, ", ") + "."
}

// idPrefix returns what the ids of an answer's calls begin with. The count of messages is another
// in each answer of a session; where messages were taken out of the request, the ids it still holds
// are stepped over.
func idPrefix(messages []session.Message) string {
	used := map[string]bool{}
	for _, m := range messages {
		for _, part := range m.Content {
			if use, ok := part.(session.ToolUse); ok {
				used[use.ID[:strings.LastIndexByte(use.ID, '_')+1]] = true
			}
		}
	}
	for n := len(messages); ; n++ {
		if prefix := fmt.Sprintf("call_%d_", n); !used[prefix] {
			return prefix
		}
	}
}

func isString(schemaType any) bool {
	if several, ok := schemaType.([]any); ok {
		return slices.Contains(several, any("string"))
	}
	return schemaType == "string"
}

// example returns an object that names the given arguments.
func example(names []string) string {
	members := make([]string, len(names))
	for i, name := range names {
		members[i] = fmt.Sprintf("%q: …", name)
	}
	return "{" + strings.Join(members, ", ") + "}"
}

func clip(s string) string {
	if runes := []rune(s); len(runes) > 60 {
		return string(runes[:60]) + "…"
	}
	return s
}
