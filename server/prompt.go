package server

import (
	"fmt"
	"slices"

	"nimlet/agent"
	"nimlet/session"
)

// Prompt waits for t's turn and works on m: a slash command is carried out, all else goes to the
// agent. It returns how that ended, as agent.Turn does. All that happens is shown before it returns.
func (s *Session) Prompt(t *Ticket, m Message) (agent.Reason, error) {
	defer s.line.leave(t)
	if !t.wait() {
		return agent.Cancelled, nil
	}
	s.refresh()
	s.settleTrust(t.ctx)
	s.tellPending()
	text := agent.FirstText(m)
	if name, args, ok := agent.ParseCommand(text); ok {
		expanded, reason, err := s.command(t, text, name, args)
		s.tellPending() // what the command found wrong in files that it read
		if expanded == "" {
			return reason, err
		}
		m = withText(m, expanded)
	}
	if t.ctx.Err() != nil {
		return agent.Cancelled, nil
	}
	reason, err := s.theAgent().Turn(t.ctx, m)
	s.tellPending() // what the turn found damaged when it read the conversation
	s.tellTitle()
	return reason, err
}

// withText puts text in the place of a message's first text.
func withText(m Message, text string) Message {
	m = slices.Clone(m)
	i := slices.IndexFunc(m, func(p session.Part) bool { _, ok := p.(session.Text); return ok })
	m[i] = session.Text{Text: text}
	return m
}

// command carries out a slash command. Its answer is shown and kept, and no model sees either; a
// command that fails says why and has still been answered. A command that stands for a message
// returns that instead.
func (s *Session) command(t *Ticket, text, name, args string) (expanded string, reason agent.Reason, err error) {
	s.mu.Lock()
	c, ok := s.commands.Find(name)
	reply := s.commands.Unknown(name)
	s.mu.Unlock()
	if ok {
		if c.Expand != nil {
			expanded, err = c.Expand(args)
		} else {
			reply, err = c.Run(t.ctx, args)
		}
		if err != nil {
			reply = fmt.Sprintf("/%s: %v", name, err)
		}
	}
	if expanded != "" && err == nil {
		return expanded, "", nil
	}
	reason, err = s.answer(text, reply)
	return "", reason, err
}

// answer shows and keeps a command and its reply, with those that go before any message of the
// conversation left out of the file: a conversation that is only commands is not one to find again.
func (s *Session) answer(text, reply string) (agent.Reason, error) {
	store := s.Store()
	id := fmt.Sprintf("c%d", store.Len())
	if store.Len() == 0 {
		id = fmt.Sprintf("c0.%d", s.nextUnstored())
	}
	if store.Len() > 0 {
		mark := session.Mark{Command: &session.Exchange{Text: text, Reply: reply}}
		if err := store.Append(mark.Event()); err != nil {
			return agent.Failed, fmt.Errorf("storing the answer of a command: %w", err)
		}
	}
	s.theAgent().Show(agent.CommandReply{MessageID: id, Text: reply})
	return agent.Completed, nil
}

// nextUnstored counts the answers that no place in the conversation tells apart.
func (s *Session) nextUnstored() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unstored++
	return s.unstored
}

// tellTitle shows the session's title when it is a new one.
func (s *Session) tellTitle() {
	s.mu.Lock()
	title := s.store.Title()
	changed := title != s.title
	s.title = title
	a := s.agent
	s.mu.Unlock()
	if changed {
		a.Show(agent.TitleChanged{Title: title})
	}
}
