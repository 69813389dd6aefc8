package agent

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"

	"nimlet/session"
)

// A Command is a slash command: something a person types that no model sees.
type Command struct {
	Name        string // lower case, without the slash
	Description string
	Hint        string // what its arguments are; "" when it takes none
	Hidden      bool   // works, but is not offered

	// Run does it and returns the text that is shown. An error is shown as well: it never ends a session.
	Run func(ctx context.Context, args string) (reply string, err error)
	// Expand, when it is set in place of Run, returns the message that is sent for the command.
	Expand func(args string) (message string, err error)
}

// Commands is what a session understands after a slash, in the order in which they are offered.
type Commands []Command

// commandPattern is compiled when it is first needed, which keeps it out of every start.
var commandPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^/([A-Za-z0-9:_-]+)(?:\s+|$)`)
})

// ParseCommand splits a message into the name of a slash command, in lower case, and its arguments.
// ok is false for a message that is none, such as one that starts with a path.
func ParseCommand(text string) (name, args string, ok bool) {
	text = strings.TrimLeft(text, " \t\r\n")
	m := commandPattern().FindStringSubmatch(text)
	if m == nil {
		return "", "", false
	}
	return strings.ToLower(m[1]), strings.TrimRight(text[len(m[0]):], " \t\r\n"), true
}

// Find returns the command of that name, which must be in lower case.
func (c Commands) Find(name string) (Command, bool) {
	i := slices.IndexFunc(c, func(x Command) bool { return x.Name == name })
	if i < 0 {
		return Command{}, false
	}
	return c[i], true
}

// Offered returns the commands that are shown to people.
func (c Commands) Offered() Commands {
	return slices.DeleteFunc(slices.Clone(c), func(x Command) bool { return x.Hidden })
}

// Unknown returns what to answer to a command that does not exist.
func (c Commands) Unknown(name string) string {
	reply := "There is no command /" + name + "."
	if near := c.closest(name); len(near) > 0 {
		reply += " Did you mean " + strings.Join(near, ", ") + "?"
	}
	return reply + " /help lists all commands."
}

// closest returns up to three names like name, best first.
func (c Commands) closest(name string) []string {
	type scored struct {
		name     string
		distance int
	}
	var near []scored
	for _, x := range c.Offered() {
		d := editDistance(name, x.Name)
		if strings.HasPrefix(x.Name, name) || strings.HasPrefix(name, x.Name) {
			d = 1
		}
		if d <= max(1, len(name)/2) {
			near = append(near, scored{"/" + x.Name, d})
		}
	}
	slices.SortStableFunc(near, func(a, b scored) int { return a.distance - b.distance })
	names := make([]string, 0, 3)
	for _, n := range near[:min(3, len(near))] {
		names = append(names, n.name)
	}
	return names
}

// Help lists the commands as Markdown.
func (c Commands) Help() string {
	var b strings.Builder
	b.WriteString("Commands:\n")
	for _, x := range c.Offered() {
		b.WriteString("\n- `/" + x.Name)
		if x.Hint != "" {
			b.WriteString(" " + x.Hint)
		}
		b.WriteString("` — " + x.Description)
	}
	return b.String()
}

// FirstText returns the text of the first text part of a message; commands stand there.
func FirstText(content []session.Part) string {
	for _, p := range content {
		if t, ok := p.(session.Text); ok {
			return t.Text
		}
	}
	return ""
}

// editDistance counts the insertions, deletions and replacements between two names (Levenshtein).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		previous := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := previous
			if a[i] != b[j] {
				cost = 1 + min(previous, row[j], row[j+1])
			}
			previous, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
