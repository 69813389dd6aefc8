package model

import "time"

// Hasty has m wait next to nothing before it asks again.
func Hasty(m Model) Model {
	m.(*remote).backoff = time.Millisecond
	return m
}
