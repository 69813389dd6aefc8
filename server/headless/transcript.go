package headless

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"nimlet/agent"
	"nimlet/session"
	"nimlet/tooling"
)

// printEvents prints a session as it is stored: its events one a line.
func printEvents(w io.Writer, store *session.Store) error {
	for _, e := range store.All() {
		line, err := session.EncodeEvent(e)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s\n", line); err != nil {
			return err
		}
	}
	return nil
}

// printTranscript prints a session for people: what the person said is quoted, what a tool put out
// is indented.
func printTranscript(w io.Writer, store *session.Store) error {
	none, _ := tooling.NewRegistry(nil, nil) // calls are shown by name and arguments
	t := transcript{w: w}
	agent.Replay(store.All(), none, 0, t.emit)
	return t.err
}

// A transcript writes the events of a replay as paragraphs.
type transcript struct {
	w    io.Writer
	some bool // there is a paragraph already
	err  error
}

func (t *transcript) emit(e agent.Event) {
	switch e := e.(type) {
	case agent.UserMessage:
		t.paragraph("> ", said(e.Content))
	case agent.TextDelta:
		t.paragraph("", e.Text)
	case agent.ThoughtDelta:
		t.paragraph("~ ", e.Text)
	case agent.CommandReply:
		t.paragraph("", e.Text)
	case agent.ToolFinished:
		t.call(e.Call, e.Result)
	}
}

// maxShown is how many lines of a tool's output are shown.
const maxShown = 20

func (t *transcript) call(c session.Call, r session.Result) {
	head := "[" + c.Name
	if arguments := compact(c.Input); arguments != "{}" {
		head += " " + arguments
	}
	if r.IsError {
		head += " failed"
	}
	t.paragraph("", head+"]")
	lines := strings.Split(strings.TrimRight(r.Output, "\n"), "\n")
	if more := len(lines) - maxShown; more > 1 {
		lines = append(lines[:maxShown:maxShown], fmt.Sprintf("… %d more lines (--json has them all)", more))
	}
	if r.Output != "" {
		t.lines("    ", strings.Join(lines, "\n"))
	}
}

// paragraph writes text with each line after mark, and an empty line before it all.
func (t *transcript) paragraph(mark, text string) {
	if t.some {
		t.print("\n")
	}
	t.some = true
	t.lines(mark, text)
}

func (t *transcript) lines(mark, text string) {
	for line := range strings.Lines(plain(strings.TrimRight(text, "\n"))) {
		t.print(strings.TrimRight(mark+line, " \n") + "\n")
	}
}

func (t *transcript) print(s string) {
	if t.err == nil {
		_, t.err = io.WriteString(t.w, s)
	}
}

// said is what a person said, with attachments named.
func said(content []session.Part) string {
	var lines []string
	for _, part := range content {
		switch p := part.(type) {
		case session.Text:
			lines = append(lines, p.Text)
		case session.Image:
			lines = append(lines, attachment(p.Path, p.MIMEType))
		case session.File:
			lines = append(lines, attachment(p.Filename, p.Path, p.MIMEType))
		}
	}
	return strings.Join(lines, "\n")
}

// attachment names an attachment by the first that is known of it.
func attachment(names ...string) string {
	for _, name := range names {
		if name != "" {
			return "[attached: " + name + "]"
		}
	}
	return "[attached]"
}

// compact returns arguments on one line, cut where nobody reads on.
func compact(input json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, input) != nil {
		return string(input)
	}
	line := b.String()
	if runes := []rune(line); len(runes) > 200 {
		return string(runes[:200]) + "…"
	}
	return line
}
