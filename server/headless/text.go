package headless

import (
	"fmt"
	"io"
	"os"
	"strings"

	"nimlet/agent"
)

// A view shows a run. emit is called for one event at a time, end once, after all events.
type view interface {
	emit(agent.Event)
	end(outcome)
}

// A text shows the answer as it comes on out, and the rest a line each on side.
type text struct {
	out     *output
	side    io.Writer
	clean   func(string) string
	message string // the message that is being written; "" before the first
	midLine bool   // what was written last lacks its newline
	titles  map[string]string
}

func newText(out *output, side *os.File) *text {
	t := &text{out: out, side: side, clean: func(s string) string { return s }, titles: map[string]string{}}
	if Terminal(out.file) {
		t.clean = plain
	}
	return t
}

func (t *text) emit(e agent.Event) {
	switch e := e.(type) {
	case agent.TextDelta:
		t.say(e.MessageID, e.Text)
	case agent.CommandReply:
		t.say(e.MessageID, e.Text)
	case agent.Notice:
		t.notice(e)
	case agent.ToolStarted:
		t.titles[e.Call.ID] = oneLine(e.Card.Title)
		t.aside("> " + t.titles[e.Call.ID])
	case agent.ToolFinished:
		if e.Result.IsError {
			t.aside("! " + t.titles[e.Call.ID] + ": " + firstLine(e.Result.Output))
		}
		delete(t.titles, e.Call.ID)
	}
}

// say writes more of a message; an empty line stands between two messages.
func (t *text) say(id, s string) {
	if s == "" {
		return
	}
	if t.message != "" && id != t.message {
		t.endLine()
		t.out.write("\n")
	}
	t.message = id
	s = t.clean(s)
	t.out.write(s)
	t.midLine = !strings.HasSuffix(s, "\n")
}

func (t *text) endLine() {
	if t.midLine {
		t.out.write("\n")
		t.midLine = false
	}
}

// aside writes a line for the person. On a terminal the answer's line has to end first.
func (t *text) aside(line string) {
	t.endLine()
	_, _ = fmt.Fprintln(t.side, line) // a person who closed standard error wants no asides
}

func (t *text) notice(n agent.Notice) {
	t.aside(string(n.Level) + ": " + oneLine(n.Title))
	for line := range strings.Lines(n.Text) {
		t.aside("  " + strings.TrimRight(plain(line), " \n"))
	}
}

func (t *text) end(o outcome) {
	if o.late {
		return // emit may still be at work
	}
	t.endLine()
	if o.reason == agent.Cancelled && o.stored && t.out.failed() == nil {
		t.aside("interrupted; nimlet run --session " + o.session + " goes on from here")
	}
}

// firstLine returns the first line of what a tool said, cut where nobody reads on.
func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	line = oneLine(line)
	if runes := []rune(line); len(runes) > 500 {
		return string(runes[:500]) + "…"
	}
	return line
}
