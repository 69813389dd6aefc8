package builtin

import "sync"

// A match is a line that matches.
type match struct {
	path string // as in matches
	line int
	text string // without line end, cut to what is shown
}

func (m match) less(o match) bool {
	return m.path < o.path || m.path == o.path && m.line < o.line
}

// matches keeps the first max matches, by path and line, of those it is given in any order. It is
// safe for use from several goroutines.
type matches struct {
	max  int
	mu   sync.Mutex
	list []match // in order
}

// add takes the matches of one file, in order.
func (m *matches) add(file []match) {
	if len(file) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	merged := make([]match, 0, len(m.list)+len(file))
	list := m.list
	for len(list) > 0 || len(file) > 0 {
		if len(file) == 0 || len(list) > 0 && list[0].less(file[0]) {
			merged, list = append(merged, list[0]), list[1:]
		} else {
			merged, file = append(merged, file[0]), file[1:]
		}
	}
	m.list = merged[:min(len(merged), m.max)]
}

// beyond reports that there are max matches before path.
func (m *matches) beyond(path string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.list) == m.max && m.list[m.max-1].path < path
}

// first returns the first n matches, and whether there are more.
func (m *matches) first(n int) ([]match, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.list[:min(len(m.list), n)], len(m.list) > n
}
