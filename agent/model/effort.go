package model

import (
	"net/http"
	"slices"
	"strings"
)

// level returns the level to ask for in place of want: the nearest that the model has. It is ""
// when nothing is to be asked.
func (a Abilities) level(want Level) Level {
	if want == "" || !a.Thinking {
		return ""
	}
	if len(a.Levels) == 0 { // nothing is known: what nearly all understand, and no word about "off"
		switch want {
		case ThinkOff:
			return ""
		case ThinkMinimal:
			return ThinkLow
		case ThinkXHigh:
			return ThinkHigh
		}
		return want
	}
	all := Levels()
	at := slices.Index(all, want)
	if at < 0 {
		return ""
	}
	nearest, distance := Level(""), len(all)
	for i, l := range all {
		if d := max(i-at, at-i); slices.Contains(a.Levels, l) && d < distance {
			nearest, distance = l, d
		}
	}
	return nearest
}

// dropEffort reports whether e says that the model reasons only where no tools are offered, as
// OpenAI's newer models do in this dialect. The tools matter more: from then on it is told not to.
func (m *remote) dropEffort(r Request, e *Error) bool {
	return len(r.Tools) > 0 && e.Status == http.StatusBadRequest && strings.Contains(e.Message, "reasoning_effort") &&
		m.endpoint.Dialect == OpenAI && !m.noEffort.Swap(true)
}
