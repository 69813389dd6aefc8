package model

import (
	"fmt"
	"hash/fnv"
	"strings"

	"nimlet/session"
)

// A turn is a stretch of the conversation in which one side speaks. Turns alternate, the person
// begins and ends; what they hold is only what any provider takes:
//
//	user:      answers to all calls of the turn before, in their order; then Text and Image
//	assistant: Text, Thinking of this very provider and ToolUse, never Thinking alone or last
//
// Each turn but the last is made the same way again when the conversation has grown, so that the
// provider finds it in its cache.
type turn struct {
	role    session.Role
	answers []session.ToolOutput
	parts   []session.Part
}

// What stands where the conversation itself has nothing, as an empty place is refused.
const (
	noResult = "There is no result: the call was interrupted, and its outcome is unknown."
	goOn     = "Go on."
	noOutput = "(no output)"
)

// A conversation makes turns of messages.
type conversation struct {
	endpoint  Endpoint
	abilities Abilities
	turns     []turn
	ids       map[string]bool // given to calls so far
	open      []openCall      // calls of the last assistant turn
}

// An openCall is a call that may still get its answer.
type openCall struct {
	id           string // in the session
	turn, answer int    // where the answer stands
	answered     bool
}

func (m *remote) turns(messages []session.Message) []turn {
	c := conversation{endpoint: m.endpoint, abilities: m.abilities, ids: map[string]bool{}}
	for _, message := range messages {
		if message.Role == session.RoleAssistant {
			c.assistant(message.Content)
		} else {
			c.user(message.Content)
		}
	}
	if c.last() == nil || c.last().role == session.RoleAssistant {
		c.to(session.RoleUser).parts = []session.Part{session.Text{Text: goOn}}
	}
	return c.turns
}

func (c *conversation) last() *turn {
	if len(c.turns) == 0 {
		return nil
	}
	return &c.turns[len(c.turns)-1]
}

// to returns the turn of role that ends the conversation, a new one if need be.
func (c *conversation) to(role session.Role) *turn {
	if role == session.RoleAssistant && len(c.turns) == 0 {
		c.turns = append(c.turns, turn{role: session.RoleUser, parts: []session.Part{session.Text{Text: goOn}}})
	}
	if c.last() == nil || c.last().role != role {
		c.turns = append(c.turns, turn{role: role})
	}
	return c.last()
}

func (c *conversation) assistant(content []session.Part) {
	parts, calls := c.spoken(content)
	if len(parts) == 0 {
		return
	}
	answers := c.rename(parts)
	t := c.to(session.RoleAssistant)
	t.parts = append(t.parts, parts...)
	if len(answers) == 0 {
		return
	}
	c.to(session.RoleUser).answers = answers
	c.open = nil
	for i, id := range calls {
		c.open = append(c.open, openCall{id: id, turn: len(c.turns) - 1, answer: i})
	}
}

// spoken returns what may be said again of an answer, and the ids of its calls.
func (c *conversation) spoken(content []session.Part) (parts []session.Part, calls []string) {
	end := 0 // of what stands before the last thinking
	for _, part := range content {
		switch p := part.(type) {
		case session.Text:
			if strings.TrimSpace(p.Text) == "" {
				continue
			}
		case session.Thinking:
			if _, _, own := c.endpoint.signed(p); !own {
				continue
			}
			parts = append(parts, p)
			continue
		case session.ToolUse:
			if p.Hosted {
				continue // its result is in the text that followed it
			}
			p.Input, _ = parseArguments(string(p.Input)) // what comes from a file may be anything
			part = p
			calls = append(calls, p.ID)
		default:
			continue
		}
		parts = append(parts, part)
		end = len(parts)
	}
	return parts[:end:end], calls
}

// rename gives the calls among parts ids and names that can be sent, and returns a place for the
// answer to each.
func (c *conversation) rename(parts []session.Part) (answers []session.ToolOutput) {
	for i, part := range parts {
		if use, ok := part.(session.ToolUse); ok {
			use.ID, use.Name = c.wireID(use.ID), wireName(use.Name)
			parts[i] = use
			answers = append(answers, session.ToolOutput{ToolUseID: use.ID, Content: noResult, IsError: true})
		}
	}
	return answers
}

// wireName returns name as providers take it: a model may have called what no tool is called.
func wireName(name string) string {
	clean := plainCharacters(name)
	if clean == "" {
		return "unnamed"
	}
	return clean[:min(len(clean), 64)]
}

// plainCharacters puts "_" for every character that is not allowed in a name or an id.
func plainCharacters(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, s)
}

// longestID is the least of what providers allow.
const longestID = 40

// wireID returns id as every provider takes it: short, of plain characters, and unlike all before it.
func (c *conversation) wireID(id string) string {
	clean := plainCharacters(id)
	if clean == "" {
		clean = "call"
	}
	if len(clean) > longestID {
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(id)) // never fails
		clean = fmt.Sprintf("%.26s_%08x", clean, hash.Sum32())
	}
	wire := clean
	for n := 2; c.ids[wire]; n++ {
		wire = fmt.Sprintf("%.34s_%d", clean, n)
	}
	c.ids[wire] = true
	return wire
}

func (c *conversation) user(content []session.Part) {
	var parts []session.Part
	for _, part := range content {
		if out, ok := part.(session.ToolOutput); ok {
			c.answer(out)
			continue
		}
		if p := c.abilities.shown(part); p != nil {
			parts = append(parts, p)
		}
	}
	if len(parts) > 0 {
		t := c.to(session.RoleUser)
		t.parts = append(t.parts, parts...)
	}
}

// answer puts out in the place of the call it answers. One that answers none is left out, as it
// would have the whole request refused.
func (c *conversation) answer(out session.ToolOutput) {
	for i, call := range c.open {
		if call.id != out.ToolUseID || call.answered {
			continue
		}
		c.open[i].answered = true
		place := &c.turns[call.turn].answers[call.answer]
		if strings.TrimSpace(out.Content) == "" {
			out.Content = noOutput
		}
		var notes []string
		out.Images, notes = c.abilities.pictures(out.Images)
		out.Content = strings.Join(append([]string{out.Content}, notes...), "\n")
		out.ToolUseID = place.ToolUseID
		*place = out
		return
	}
}

// sign marks a signature as this provider's. kind tells how it is sent back. Only who signed a
// thought takes it back: another refuses it, or bills for what it cannot read.
func (e Endpoint) sign(kind, signature string) string { return e.Name + ":" + kind + ":" + signature }

// signed returns the mark on t; own is false when it is another provider's, or none.
func (e Endpoint) signed(t session.Thinking) (kind, signature string, own bool) {
	rest, own := strings.CutPrefix(t.Signature, e.Name+":")
	kind, signature, found := strings.Cut(rest, ":")
	return kind, signature, own && found
}
