package builtin

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// A replacement is one change that edit makes: Old, which occurs exactly once, becomes New.
type replacement struct {
	Old string `json:"old_text"`
	New string `json:"new_text"`
}

// apply returns text with the replacement made. Old is looked for without regard to whether lines
// end in LF or CRLF, and what of it stays the same keeps its bytes: only lines that differ between
// Old and New are written, with the line ends of those they replace.
func (r replacement) apply(text string) (string, error) {
	flat, old, new := toLF(text), toLF(r.Old), toLF(r.New)
	if old == "" {
		return "", errors.New("old_text is empty; give the text to replace, or use write for a new file")
	}
	if old == new {
		return "", errors.New("old_text and new_text are the same")
	}
	found := occurrences(flat, old)
	switch len(found) {
	case 0:
		return "", notFound(flat, old)
	case 1:
	default:
		return "", ambiguous(flat, found)
	}
	return splice(text, found[0], udiff.Lines(old, new)), nil
}

// maxOccurrences is how many places are looked for; no message names more.
const maxOccurrences = 100

// occurrences returns where old begins in text, overlapping ones included: a text that occurs
// twice, each time within the other, is not unique either.
func occurrences(text, old string) []int {
	var found []int
	for from := 0; len(found) < maxOccurrences; {
		i := strings.Index(text[from:], old)
		if i < 0 {
			break
		}
		found = append(found, from+i)
		from += i + 1
	}
	return found
}

// splice makes edits, whose offsets count from base in text with LF alone, in text as it is.
func splice(text string, base int, edits []udiff.Edit) string {
	var out strings.Builder
	at := cursor{text: text}
	for _, e := range edits {
		out.WriteString(at.advance(base + e.Start))
		start := at.offset
		at.advance(base + e.End)
		out.WriteString(withEndings(e.New, text, start, at.offset))
	}
	out.WriteString(text[at.offset:])
	return out.String()
}

// A cursor walks through text and counts a CRLF as one byte, as in toLF(text).
type cursor struct {
	text   string
	offset int // in text
	flat   int // the same place in toLF(text)
}

// advance moves to the offset flat and returns the text on the way.
func (c *cursor) advance(flat int) string {
	start := c.offset
	for c.flat < flat {
		rest := c.text[c.offset:]
		crlf := strings.Index(rest, "\r\n")
		if crlf < 0 || crlf >= flat-c.flat {
			c.offset += flat - c.flat
			c.flat = flat
			break
		}
		c.offset += crlf + len("\r\n")
		c.flat += crlf + 1
	}
	return c.text[start:c.offset]
}

// withEndings gives the lines of s, which replace text[start:end], the line ends that stand there:
// the first gets the first, and so on. Where fewer stand there the last is used again; where none
// do, the next one in the text is, or else the one before.
func withEndings(s, text string, start, end int) string {
	if !strings.Contains(s, "\n") || !strings.Contains(text, "\r\n") {
		return s
	}
	var out strings.Builder
	ending := ""
	for line := range strings.SplitAfterSeq(s, "\n") {
		body, ended := strings.CutSuffix(line, "\n")
		out.WriteString(body)
		if !ended {
			continue
		}
		if next, after := nextEnding(text, start); next != "" && (ending == "" || after <= end) {
			ending, start = next, after
		}
		if ending == "" {
			ending = lastEnding(text)
		}
		out.WriteString(ending)
	}
	return out.String()
}

// nextEnding returns the line end that comes next in text after from, and where it ends.
func nextEnding(text string, from int) (ending string, after int) {
	i := strings.IndexByte(text[from:], '\n')
	if i < 0 {
		return "", from
	}
	return lineEnd(text[:from+i]), from + i + 1
}

func lastEnding(text string) string {
	return lineEnd(text[:strings.LastIndexByte(text, '\n')])
}

// lineEnd returns the line end whose LF follows before.
func lineEnd(before string) string {
	if strings.HasSuffix(before, "\r") {
		return "\r\n"
	}
	return "\n"
}

// ambiguous says where the copies are.
func ambiguous(text string, found []int) error {
	var lines []string
	for _, at := range found[:min(len(found), 10)] {
		lines = append(lines, fmt.Sprint(1+strings.Count(text[:at], "\n")))
	}
	count, more := fmt.Sprint(len(found)), ""
	if len(found) == maxOccurrences {
		count += " or more"
	}
	if len(found) > len(lines) {
		more = ", …"
	}
	return fmt.Errorf("old_text has %s matches, beginning in lines %s%s; add lines around it until it occurs once", count, strings.Join(lines, ", "), more)
}

var numbered = regexp.MustCompile(`^ *\d+\t`)

// notFound says what comes close to old, so that the next try need not read the file again.
func notFound(text, old string) error {
	message := "old_text is not found"
	if allLines(old, numbered.MatchString) {
		return errors.New(message + "; it has the line numbers of read in it, leave them out")
	}
	similar := similarLines(strings.Split(text, "\n"), strings.Split(old, "\n"))
	if similar == "" {
		return errors.New(message + ", nor any line like it; read the file again")
	}
	return errors.New(message + "; " + similar)
}

func allLines(s string, ok func(string) bool) bool {
	for line := range strings.SplitSeq(strings.Trim(s, "\n"), "\n") {
		if !ok(line) {
			return false
		}
	}
	return true
}
