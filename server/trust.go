package server

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"nimlet/agent"
	"nimlet/agent/config"
	"nimlet/tooling"
)

// decidedTrust returns whether the workspace is trusted, and whether that needs no question: it was
// decided, or there is nothing to trust.
func (s *Session) decidedTrust() (trusted, decided bool) {
	o := s.server.opts
	if o.Trust != nil {
		return *o.Trust, true
	}
	t, err := o.Home.Trust(s.workspace.Root())
	if err != nil {
		s.noteLocked(agent.Error, fmt.Sprintf("reading which folders are trusted: %v", err))
		return false, false
	}
	return t == config.Trusted, t != config.Undecided
}

// projectGrants are the keys that a trusted project grants itself.
func (s *Session) projectGrants() []string {
	s.mu.Lock()
	trusted := s.trusted
	s.mu.Unlock()
	if !trusted {
		return nil
	}
	keys, problems := config.ProjectPermissions(s.workspace.Root())
	valid := keys[:0]
	for _, text := range keys {
		key, err := tooling.ParseKey(text)
		if err != nil {
			problems = append(problems, config.Problem{
				File: filepath.Join(s.workspace.Root(), ".nimlet", "permissions.json"), Key: "allow", Text: err.Error() + "; it allows nothing", Warning: true,
			})
			continue
		}
		valid = append(valid, key)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range problems {
		s.noteProblem(p)
	}
	return valid
}

const (
	trustNo  = "No, leave them out"
	trustYes = "Yes, I trust this folder"
)

// settleTrust runs once, before the first prompt: where the project has files that change what the
// agent does and the folder is not trusted, the person is asked if the editor has a question that
// no program answers by itself, and else told what was left out (ACP, "Trust").
func (s *Session) settleTrust(ctx context.Context) {
	s.mu.Lock()
	settled, done := s.asked, s.trusted || s.told
	s.mu.Unlock()
	if done {
		return
	}
	files := config.ProjectFiles(s.server.opts.Home, s.server.opts.UserHome, s.workspace.Root())
	if len(files) == 0 {
		return
	}
	if !settled && s.editor.AskTrust != nil {
		s.askTrust(ctx, files)
		return
	}
	s.sayLeftOut(files)
}

func (s *Session) askTrust(ctx context.Context, files []string) {
	answer, err := s.editor.AskTrust(ctx, tooling.Question{
		Prompt:  fmt.Sprintf("Trust %s? It brings files that change what the agent does: %s.", s.workspace.Root(), strings.Join(files, ", ")),
		Options: []tooling.Option{{Label: trustNo}, {Label: trustYes}},
	})
	switch {
	case ctx.Err() != nil: // asked again at the next prompt
	case err != nil || answer.Text != trustYes: // for this process; only /trust off stores a refusal
		s.sayLeftOut(files)
	default:
		if err := s.setTrust(true); err != nil {
			s.warn("%v", err)
		}
	}
}

// sayLeftOut says once what an untrusted folder does not get.
func (s *Session) sayLeftOut(files []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.told {
		return
	}
	s.told, s.asked = true, true
	s.noteLocked(agent.Info, fmt.Sprintf("Left out because this folder is not trusted: %s. /trust on (in a shell, nimlet trust on) loads them.", strings.Join(files, ", ")))
}

// setTrust stores the person's decision and rebuilds what depends on it.
func (s *Session) setTrust(on bool) error {
	err := s.server.opts.Home.SetTrust(s.workspace.Root(), on)
	var damaged *config.DamagedError
	if errors.As(err, &damaged) && damaged.Kept != "" { // stored, but not all that was there before
		s.warn("%v", err)
		err = nil
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.trusted, s.asked = on, true
	mode := s.agent.Mode()
	s.mu.Unlock()
	s.wire(mode)
	if s.editor.Commands != nil {
		s.editor.Commands(s.Commands())
	}
	return nil
}
