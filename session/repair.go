package session

import (
	"fmt"
	"strings"
)

// interruptedMark is why an answer made from a partial is not whole.
const interruptedMark = "the program ended while this was written"

// repair adds in memory what a crash kept from being written.
func (s *Store) repair() error {
	records, size, err := readPartial(s.partialPath())
	if err != nil {
		return err
	}
	s.partial.end = size
	last, events, err := s.tail()
	if err != nil {
		return err
	}
	missing := repairs(last, events, records)
	for _, e := range missing {
		switch e.(type) {
		case Assistant:
			s.warnings = append(s.warnings, "the answer was interrupted; what had been shown of it was recovered")
		case ToolResult:
			s.warnings = append(s.warnings, "a tool call was interrupted; its outcome is unknown")
		}
	}
	s.hold(missing)
	return nil
}

// tail returns the last answer and the events after it; last is its position, -1 without one.
func (s *Store) tail() (last int, events []Event, err error) {
	for last = len(s.entries) - 1; last >= 0 && s.entries[last].kind != kindAssistant; last-- {
	}
	for i := max(last, 0); i < len(s.entries); i++ {
		if k := s.entries[i].kind; k != kindAssistant && k != kindResult && k != kindUser {
			continue
		}
		e, err := s.event(s.entries[i])
		if err != nil {
			return 0, nil, err
		}
		events = append(events, e)
	}
	return last, events, nil
}

// repairs returns the events that are missing after events, which begin with the last answer, at
// position last: results of calls that have none, and the answer that records hold in part.
func repairs(last int, events []Event, records []partialRecord) (missing []Event) {
	for _, call := range openCalls(events) {
		output := outcomeUnknown
		if seen := joined(last, records, call); seen != "" {
			output += "\n\nIt had printed:\n" + seen
		}
		missing = append(missing, ToolResult{ID: call, Output: output, IsError: true})
	}
	if parts := shown(last, records); len(parts) > 0 {
		missing = append(missing, Assistant{Content: parts}, Mark{Interrupted: interruptedMark}.Event())
	}
	return missing
}

// openCalls returns the ids of calls that no result answers, in their order.
func openCalls(events []Event) (open []string) {
	answered := map[string]int{}
	for _, e := range events {
		switch e := e.(type) {
		case ToolResult:
			answered[e.ID]++
		case User:
			for _, p := range e.Content {
				if out, ok := p.(ToolOutput); ok {
					answered[out.ToolUseID]++
				}
			}
		}
	}
	for _, e := range events {
		a, ok := e.(Assistant)
		if !ok {
			continue
		}
		for _, p := range a.Content {
			use, ok := p.(ToolUse)
			if !ok || use.Hosted {
				continue
			}
			if answered[use.ID]--; answered[use.ID] < 0 {
				open = append(open, use.ID)
			}
		}
	}
	return open
}

// shown returns the parts of an answer that was shown and never finished.
func shown(last int, records []partialRecord) (parts []Part) {
	var text strings.Builder
	var kind PartialKind
	var id string
	flush := func() {
		switch {
		case text.Len() == 0:
		case kind == PartialThinking:
			parts = append(parts, Thinking{Thinking: text.String()})
		default:
			parts = append(parts, Text{Text: text.String()})
		}
		text.Reset()
	}
	for _, r := range records {
		if r.Kind == PartialOutput || r.At <= last {
			continue
		}
		if r.Kind != kind || r.ID != id {
			flush()
			kind, id = r.Kind, r.ID
		}
		text.WriteString(r.Text)
	}
	flush()
	return parts
}

// joined returns the output of call that was shown, and nothing of an earlier call of that id.
func joined(last int, records []partialRecord, call string) string {
	var text strings.Builder
	for _, r := range records {
		if r.Kind == PartialOutput && r.ID == call && r.At > last {
			text.WriteString(r.Text)
		}
	}
	return text.String()
}

func damagedWarning(line int) string {
	return fmt.Sprintf("line %d is damaged and was skipped", line)
}
