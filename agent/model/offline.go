package model

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"nimlet/session"
)

// Offline returns the model that is used when there is no other. It asks no network and knows
// nothing: it reads the person's message as commands, calls the tools they name, and prints what
// the tools answered (spec: models, "offline"). Its rules are:
//
//   - A line whose first word is the name of an offered tool is a call; script.go says how the rest
//     of the line is read.
//   - All other text is echoed, with one line of help. Attachments are named.
//   - Results since the last answer are printed, each under the call it answers.
//   - The first answer of a session begins by saying what answers.
//
// It keeps no state: the same request has the same answer.
func Offline() Model { return offline{} }

type offline struct{}

const offlineNotice = "nimlet is offline: no language model answers here. Set a provider's key, such as ANTHROPIC_API_KEY, or start a local " +
	"model server to have one. Until then, start a line with a tool's name to run that tool."

func (offline) Stream(ctx context.Context, r Request) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		for c := range compose(r).chunks() {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			if !yield(c, nil) {
				return
			}
		}
	}
}

// An answer is all that the offline model says to one request.
type answer struct {
	text   string
	calls  []session.ToolUse
	usage  session.Usage
	reason Reason
}

func compose(r Request) answer {
	asked, before := split(r.Messages)
	var blocks []string // paragraphs of the answer
	if before == nil {
		blocks = append(blocks, offlineNotice)
	}
	var text []string
	for _, part := range asked {
		switch p := part.(type) {
		case session.ToolOutput:
			blocks = append(blocks, printed(p, before))
		case session.Text:
			text = append(text, p.Text)
		case session.Image:
			blocks = append(blocks, attached("", p.MIMEType, p.Path, p.Data))
		case session.File:
			blocks = append(blocks, attached(p.Filename, p.MIMEType, p.Path, p.Data))
		}
	}
	s := script{tools: r.Tools, rest: strings.Join(text, "\n"), id: idPrefix(r.Messages)}
	s.run()
	if s.reply != "" {
		blocks = append(blocks, strings.Trim(s.reply, "\n"))
	}
	if s.echoed || len(s.calls) == 0 && len(blocks) == 0 {
		blocks = append(blocks, s.help())
	}
	a := answer{text: strings.Join(blocks, "\n\n"), calls: s.calls, reason: EndTurn}
	if len(a.calls) > 0 {
		a.reason = ToolCalls
	}
	a.limit(r.MaxTokens)
	a.usage = session.Usage{Input: tokens(requestBytes(r)), Output: tokens(a.bytes())}
	return a
}

// split returns what was said since the model last answered, and that answer; before is nil when
// it never did. Results and a message that the person sent meanwhile may come together.
func split(messages []session.Message) (asked, before []session.Part) {
	last := len(messages)
	for last > 0 && messages[last-1].Role != session.RoleAssistant {
		last--
	}
	for _, m := range messages[last:] {
		for _, p := range m.Content {
			if session.InterruptedNote(p) {
				asked = nil // what was asked before is over
				continue
			}
			asked = append(asked, p)
		}
	}
	if last == 0 {
		return asked, nil
	}
	return asked, append([]session.Part{}, messages[last-1].Content...)
}

// limit cuts a to max tokens, 0 for no limit. What a model had no room to call is not called.
func (a *answer) limit(max int) {
	if max <= 0 || tokens(a.bytes()) <= max {
		return
	}
	a.calls, a.reason = nil, MaxTokens
	if room := max * bytesPerToken; len(a.text) > room {
		for room > 0 && !utf8.RuneStart(a.text[room]) {
			room--
		}
		a.text = a.text[:room]
	}
}

func (a answer) bytes() int {
	n := len(a.text)
	for _, c := range a.calls {
		n += len(c.Name) + len(c.Input)
	}
	return n
}

// chunks streams the text word by word, so that a long echo is a long stream, as a model's is.
func (a answer) chunks() iter.Seq[Chunk] {
	return func(yield func(Chunk) bool) {
		for word := range words(a.text) {
			if !yield(Text(word)) {
				return
			}
		}
		for _, c := range a.calls {
			if !yield(ToolCall(c)) {
				return
			}
		}
		_ = yield(Usage(a.usage)) && yield(Stop{a.reason})
	}
}

// words cuts text behind each run of white space; the pieces joined are text.
func words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start, space := 0, false
		for i, r := range text {
			if space && !unicode.IsSpace(r) {
				if !yield(text[start:i]) {
					return
				}
				start = i
			}
			space = unicode.IsSpace(r)
		}
		if start < len(text) {
			yield(text[start:])
		}
	}
}

// printed shows a result under the call it answers, one of those in calls.
func printed(out session.ToolOutput, calls []session.Part) string {
	head := "result"
	for _, part := range calls {
		if use, ok := part.(session.ToolUse); ok && use.ID == out.ToolUseID {
			head = strings.TrimSpace(use.Name + " " + argument(use.Input))
		}
	}
	head = code(head)
	if out.IsError {
		head += " failed"
	}
	body := "(no output)"
	if content := strings.TrimRight(out.Content, "\n"); content != "" {
		fence := strings.Repeat("`", max(3, longestRun(content)+1))
		body = fence + "\n" + content + "\n" + fence
	}
	for _, image := range out.Images {
		body += "\n\n" + attached("", image.MIMEType, image.Path, image.Data)
	}
	return head + "\n\n" + body
}

// argument returns the arguments of a call in one short line: the text alone when there is but one.
func argument(input json.RawMessage) string {
	var object map[string]any
	line := string(input)
	if json.Unmarshal(input, &object) == nil {
		if len(object) == 0 {
			return ""
		}
		for _, value := range object {
			if text, ok := value.(string); ok && len(object) == 1 {
				line = text
			}
		}
	}
	short := strings.Join(strings.Fields(line), " ")
	if runes := []rune(short); len(runes) > 100 {
		short = string(runes[:100]) + "…"
	}
	return short
}

// code returns s as Markdown shows it verbatim within a line.
func code(s string) string {
	run := longestRun(s)
	if run == 0 {
		return "`" + s + "`"
	}
	mark := strings.Repeat("`", run+1)
	return mark + " " + s + " " + mark
}

// longestRun counts the backticks of the longest run of them in s.
func longestRun(s string) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// attached tells what is known of an attachment. The offline model cannot look into one.
func attached(name, mimeType, path, data string) string {
	if name == "" {
		name = path
	}
	if name == "" {
		name = "unnamed"
	}
	size := "size unknown"
	if data != "" {
		size = fmt.Sprintf("%d bytes", base64.StdEncoding.DecodedLen(len(data))-strings.Count(data[max(0, len(data)-2):], "="))
	} else if info, err := os.Stat(path); err == nil && filepath.IsAbs(path) {
		size = fmt.Sprintf("%d bytes", info.Size())
	}
	if mimeType == "" {
		mimeType = "type unknown"
	}
	return fmt.Sprintf("Attached: %s (%s, %s).", name, mimeType, size)
}

// bytesPerToken is the common rule of thumb; nothing here counts real tokens.
const bytesPerToken = 4

func tokens(bytes int) int { return (bytes + bytesPerToken - 1) / bytesPerToken }

func requestBytes(r Request) int {
	n := len(r.System)
	for _, t := range r.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	for _, m := range r.Messages {
		for _, part := range m.Content {
			n += partBytes(part)
		}
	}
	return n
}

func partBytes(part session.Part) int {
	switch p := part.(type) {
	case session.Text:
		return len(p.Text)
	case session.Thinking:
		return len(p.Thinking)
	case session.ToolUse:
		return len(p.Name) + len(p.Input)
	case session.ToolOutput:
		return len(p.Content)
	case session.Image:
		return len(p.Data)
	case session.File:
		return len(p.Data)
	default:
		return 0
	}
}
