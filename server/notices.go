package server

import (
	"fmt"
	"slices"

	"go.uber.org/zap"

	"nimlet/agent"
	"nimlet/agent/config"
)

// Notices wait until a prompt runs, because editors drop what comes between turns.

// Note tells the person something when the next prompt runs. The same thing is told once.
func (s *Session) Note(level agent.Level, title string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noteLocked(level, title)
}

func (s *Session) noteLocked(level agent.Level, title string) {
	n := agent.Notice{Level: level, Title: title}
	if !slices.Contains(s.pending, n) {
		s.pending = append(s.pending, n)
	}
}

func (s *Session) noteProblem(p config.Problem) {
	level := agent.Error
	if p.Warning {
		level = agent.Warning
	}
	s.server.opts.Logger.Warn("configuration", zap.Stringer("problem", p))
	s.noteLocked(level, p.String())
}

// noteUnkept tells that the conversation is in memory alone, and why.
func (s *Session) noteUnkept(why error) {
	s.Note(agent.Warning, fmt.Sprintf("This conversation is not stored and ends with nimlet: %v", why))
}

// noteStoreLocked collects what the store has found damaged or repaired since it was asked last. Some
// of that shows only when an event is read or the file is written to, in the middle of a turn.
func (s *Session) noteStoreLocked() {
	warnings := s.store.Warnings()
	for _, w := range warnings[s.heard:] {
		s.noteLocked(agent.Warning, w)
	}
	s.heard = len(warnings)
}

// tellPending shows what waited for a prompt.
func (s *Session) tellPending() {
	s.mu.Lock()
	s.noteStoreLocked()
	pending := s.pending
	s.pending = nil
	s.mu.Unlock()
	for _, n := range pending {
		s.theAgent().Show(n)
	}
}

// warn shows a warning now; it is for code that runs inside a prompt.
func (s *Session) warn(format string, args ...any) {
	s.theAgent().Show(agent.Notice{Level: agent.Warning, Title: fmt.Sprintf(format, args...)})
}
