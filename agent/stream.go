package agent

import (
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"nimlet/agent/model"
	"nimlet/session"
)

// Streamed text goes on at once for the first chunk and in batches after it, so that a fast model
// costs few writes and a slow one is seen as it speaks (spec: sessions).
const (
	batchDelay = 30 * time.Millisecond
	batchBytes = 4 << 10
)

// A stream passes the text of one answer to the session's partial file and then to the editor. The
// rules are: a batch is on file before it is shown; no batch ends inside a character; text and
// thought keep their order.
type stream struct {
	agent *Agent
	index int // of the event that the answer will become

	mu       sync.Mutex
	kind     session.PartialKind
	pending  []byte
	started  bool        // the first chunk of this kind is out
	timer    *time.Timer // fires when pending has waited long enough; nil before the first wait
	waiting  bool        // timer is armed
	firstErr error
}

func newStream(a *Agent, index int) *stream { return &stream{agent: a, index: index} }

func (s *stream) text(t string)    { s.add(session.PartialText, t) }
func (s *stream) thought(t string) { s.add(session.PartialThinking, t) }

func (s *stream) add(kind session.PartialKind, t string) {
	if t == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if kind != s.kind {
		s.flushLocked(true)
		s.kind, s.started = kind, false
	}
	s.pending = append(s.pending, t...)
	switch {
	case !s.started || len(s.pending) >= batchBytes:
		s.flushLocked(false)
	case !s.waiting:
		s.waitLocked()
	}
}

// waitLocked has pending flushed in a while, whether or not more comes.
func (s *stream) waitLocked() {
	s.waiting = true
	if s.timer != nil {
		s.timer.Reset(batchDelay)
		return
	}
	s.timer = time.AfterFunc(batchDelay, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.waiting {
			s.flushLocked(false)
		}
	})
}

// flushLocked sends what is pending up to the last whole character, or all of it.
func (s *stream) flushLocked(all bool) {
	s.waiting = false
	n := len(s.pending)
	if !all {
		n = wholeCharacters(s.pending)
	}
	if n == 0 || s.firstErr != nil {
		return
	}
	text := string(s.pending[:n])
	s.pending = append(s.pending[:0], s.pending[n:]...)
	s.started = true
	s.sendLocked(text)
}

func (s *stream) sendLocked(text string) {
	id := messageID("m", s.index)
	if s.kind == session.PartialThinking {
		id = messageID("t", s.index)
	}
	if err := s.agent.cfg.Log.Partial(session.Partial{Kind: s.kind, ID: id, Text: text}); err != nil {
		s.firstErr = fmt.Errorf("storing the answer as it streams: %w", err)
		return
	}
	if s.kind == session.PartialThinking {
		s.agent.emit(ThoughtDelta{MessageID: id, Text: text})
	} else {
		s.agent.emit(TextDelta{MessageID: id, Text: text})
	}
}

// retry tells the person that the answer takes longer, and why. It comes before any text.
func (s *stream) retry(r model.Retrying) {
	title := fmt.Sprintf("Asking the model again, attempt %d", r.Attempt)
	if r.Wait > 0 {
		title += ", in " + max(r.Wait.Round(100*time.Millisecond), 100*time.Millisecond).String()
	}
	s.agent.emit(Notice{Level: Info, Title: title, Text: r.Err.Error()})
}

// err returns why streaming had to stop, if it had to.
func (s *stream) err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.firstErr
}

// close sends what is left and ends the timer.
func (s *stream) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
	s.flushLocked(true)
	return s.firstErr
}

// wholeCharacters returns the length of b without an unfinished UTF-8 sequence at its end.
func wholeCharacters(b []byte) int {
	for back := 1; back <= min(utf8.UTFMax-1, len(b)); back++ {
		if start := len(b) - back; utf8.RuneStart(b[start]) {
			if utf8.FullRune(b[start:]) {
				break
			}
			return start
		}
	}
	return len(b)
}
