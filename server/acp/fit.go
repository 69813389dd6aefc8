package acp

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"nimlet/session"
)

// One update is one line, and clients have limits for a line, so everything sent is made to fit
// (ACP, "line limits"). Lengths here are those of JSON text.
const (
	defaultLimit  = 48 << 10
	roomyLimit    = 1 << 20 // for editors known to take it
	chunkOverhead = 1 << 10 // of an update around its text
	toolOverhead  = 2 << 10
)

// updateLimit returns how long one update may be for this client.
func (c *connection) updateLimit() int {
	if n := c.settings.MaxUpdateBytes; n > 0 {
		return n
	}
	name := strings.ToLower(c.client.Name)
	if name == "zed" || strings.Contains(name, "jetbrains") {
		return roomyLimit
	}
	return defaultLimit
}

// runeLen is how many bytes a character takes inside a JSON string.
func runeLen(r rune) int {
	switch {
	case r == '"', r == '\\', r == '\n', r == '\r', r == '\t', r == '\b', r == '\f':
		return 2
	case r < ' ', r == '\u2028', r == '\u2029':
		return 6
	default:
		return utf8.RuneLen(r)
	}
}

func textLen(s string) int {
	n := 0
	for _, r := range s {
		n += runeLen(r)
	}
	return n
}

// prefix returns the longest start of s that takes at most room.
func prefix(s string, room int) string {
	for i, r := range s {
		if room -= runeLen(r); room < 0 {
			return s[:i]
		}
	}
	return s
}

// suffix returns the longest end of s that takes at most room.
func suffix(s string, room int) string {
	for end := len(s); end > 0; {
		r, size := utf8.DecodeLastRuneInString(s[:end])
		if room -= runeLen(r); room < 0 {
			return s[end:]
		}
		end -= size
	}
	return s
}

// pieces cuts a text into runs that each take at most room. An empty text has none.
func pieces(s string, room int) []string {
	var list []string
	for s != "" {
		p := prefix(s, room)
		if p == "" { // room for not even one character; never with limits that are checked
			return append(list, s)
		}
		list = append(list, p)
		s = s[len(p):]
	}
	return list
}

// excerpt returns s, or its start and end with a line between them that says what is missing.
func excerpt(s string, room int) string {
	if len(s) <= room/6 || textLen(s) <= room {
		return s
	}
	const note = 100
	half := max(0, (room-note)/2)
	head, tail := prefix(s, half), suffix(s, half)
	return fmt.Sprintf("%s\n[… %d bytes are not shown here …]\n%s", head, len(s)-len(head)-len(tail), tail)
}

// fenced puts output into a code block, so that clients that draw Markdown show it as it is.
func fenced(s string) string {
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimSuffix(s, "\n") + "\n" + fence
}

// headline returns the first line of s, at most n characters long, and what comes after it.
func headline(s string, n int) (title, rest string) {
	title, rest, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if utf8.RuneCountInString(title) > n {
		title, rest = string([]rune(title)[:n-1])+"…", s
	}
	return title, rest
}

func joinLines(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

func syntheticID(kind string, n int) string { return fmt.Sprintf("%s:%d", kind, n) }

// encodedLen is how long the JSON text of v is.
func encodedLen(v any) int {
	data, err := json.Marshal(v)
	if err != nil {
		return 0
	}
	return len(data)
}

// fitBlock replaces a block that is too long by a line that names it.
func fitBlock(b contentBlock, room int) contentBlock {
	if encodedLen(b) <= room {
		return b
	}
	name := b.MIMEType
	if b.Resource != nil {
		name = b.Resource.URI
	}
	return textBlock(fmt.Sprintf("[%s %s, too long to be shown here]", b.Type, name))
}

// fitDiff returns a change as one diff of the whole file, or, when that is too long, as one diff for
// each place that changed and a line that says so. used is what they take.
func fitDiff(d session.Diff, room int) (list []toolContent, used int) {
	whole := toolContent{Type: "diff", Path: d.Path, OldText: d.Old, NewText: &d.New}
	if n := diffLen(whole); n <= room {
		return []toolContent{whole}, n
	}
	left := 0
	for _, w := range windows(d) {
		if n := diffLen(w); used+n <= room-chunkOverhead {
			list, used = append(list, w), used+n
		} else {
			left++
		}
	}
	note := "The file is too long to be shown whole; these are the places that changed."
	if left > 0 {
		note = fmt.Sprintf("The file is too long to be shown whole; %d of the places that changed are left out here.", left)
	}
	list = append(list, content(textBlock(note)))
	return list, used + chunkOverhead
}

func diffLen(c toolContent) int {
	n := 64 + textLen(c.Path) + textLen(*c.NewText)
	if c.OldText != nil {
		n += textLen(*c.OldText)
	}
	return n
}

// contextLines is how many unchanged lines a window shows around a change.
const contextLines = 3

// windows are the hunks of a change, each as a diff of its own.
func windows(d session.Diff) []toolContent {
	old := ""
	if d.Old != nil {
		old = *d.Old
	}
	unified, err := udiff.ToUnifiedDiff("a", "b", old, udiff.Lines(old, d.New), contextLines)
	if err != nil {
		return nil
	}
	list := make([]toolContent, 0, len(unified.Hunks))
	for _, h := range unified.Hunks {
		var before, after strings.Builder
		for _, l := range h.Lines {
			if l.Kind != udiff.Insert {
				before.WriteString(l.Content)
			}
			if l.Kind != udiff.Delete {
				after.WriteString(l.Content)
			}
		}
		b, a := before.String(), after.String()
		list = append(list, toolContent{Type: "diff", Path: d.Path, OldText: &b, NewText: &a})
	}
	return list
}
