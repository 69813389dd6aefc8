package server

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"nimlet/session"
)

// A tally counts what a conversation is made of.
type tally struct {
	prompts, requests, failed int
	calls                     map[string]int
	usage                     session.Usage
}

func (t *tally) add(e session.Event) {
	switch e := e.(type) {
	case session.User:
		t.prompts++
	case session.ToolResult:
		if e.IsError {
			t.failed++
		}
	case session.Assistant:
		t.requests++
		for _, p := range e.Content {
			if use, ok := p.(session.ToolUse); ok {
				t.calls[use.Name]++
			}
		}
		if u := e.Usage; u != nil {
			t.usage.Input += u.Input
			t.usage.Output += u.Output
			t.usage.CacheRead += u.CacheRead
			t.usage.CacheWrite += u.CacheWrite
			t.usage.Thinking += u.Thinking
			t.usage.Spent = u.Spent
		}
	}
}

// stats answers /stats. It walks the whole conversation: nobody asks for it often.
func (s *Session) stats(context.Context, string) (string, error) {
	t := tally{calls: map[string]int{}}
	for _, e := range s.Store().All() {
		t.add(e)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "This session so far:\n\n- messages: %d, model requests: %d\n", t.prompts, t.requests)
	fmt.Fprintf(&b, "- tokens: %d in (%d from the cache, %d into it), %d out", t.usage.Input, t.usage.CacheRead, t.usage.CacheWrite, t.usage.Output)
	if t.usage.Thinking > 0 {
		fmt.Fprintf(&b, " (%d of them thinking)", t.usage.Thinking)
	}
	total := 0
	var names []string
	for _, name := range slices.Sorted(maps.Keys(t.calls)) {
		total += t.calls[name]
		names = append(names, fmt.Sprintf("%s %d", name, t.calls[name]))
	}
	fmt.Fprintf(&b, "\n- tool calls: %d, of which %d failed", total, t.failed)
	if total > 0 {
		b.WriteString(" (" + strings.Join(names, ", ") + ")")
	}
	if t.usage.Spent > 0 {
		fmt.Fprintf(&b, "\n- cost: %.4f US dollars, as far as prices are known", t.usage.Spent)
	} else {
		b.WriteString("\n- cost: not known, or none")
	}
	return b.String(), nil
}
