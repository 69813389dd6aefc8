package server

import (
	"context"
	"fmt"
	"strings"

	"nimlet/agent"
	"nimlet/session"
)

// buildCommands lists the slash commands of the session, in the order of their help: nimlet's own,
// the skills, the prompt templates. One of nimlet's own wins over a template of its name.
func (s *Session) buildCommands(skills []agent.Skill, templates []agent.Template) agent.Commands {
	list := agent.Commands{
		{Name: "help", Description: "List these commands", Run: s.help},
		{Name: "plan", Description: "Look only: read and plan, change nothing", Run: s.switchTo(agent.Plan)},
		{Name: "act", Description: "Work: edit files and run commands", Run: s.switchTo(agent.Act)},
		{Name: "model", Hint: "[id]", Description: "Choose the model that answers, or list those there are", Run: s.modelCommand},
		{Name: "provider", Hint: "[name]", Description: "Choose whose models answer", Run: s.providerCommand},
		{Name: "thinking", Hint: "[level]", Description: "Choose how much the model thinks before it answers", Run: s.thinkingCommand},
		{Name: "session", Description: "Show this session's id, file and settings", Run: s.describe},
		{Name: "stats", Description: "Count what this session has used", Run: s.stats},
		{Name: "new", Description: "Begin a new conversation here", Run: s.beginAnew},
		{Name: "resume", Description: "Say how to go back to an earlier conversation", Run: s.howToResume},
		{Name: "name", Hint: "[title]", Description: "Name this session, or show its name", Run: s.rename},
		{Name: "permissions", Hint: "[clear]", Description: "Show what is allowed without asking, or take it back", Run: s.showPermissions},
		{Name: "yolo", Hint: "[off]", Description: "Allow everything without asking, until nimlet ends", Run: s.yolo},
		{Name: "doctor", Hint: "[test]", Description: "Tell where settings come from, who answers, and what is wrong", Run: s.doctor},
		{Name: "trust", Hint: "[on|off]", Description: "Show or decide whether this folder's own settings count", Run: s.trust},
	}
	list = append(list, skillCommands(skills)...)
	for _, t := range templates {
		if _, taken := list.Find(t.Name); taken {
			s.noteLocked(agent.Warning, fmt.Sprintf("%s: /%s is a command already, so the template is left out; give the file another name", t.File, t.Name))
			continue
		}
		list = append(list, templateCommand(t))
	}
	for i := range list {
		for _, hidden := range s.editor.Hides {
			list[i].Hidden = list[i].Hidden || list[i].Name == hidden
		}
	}
	return list
}

// usage is the error of arguments that a command does not take.
func usage(format string, args ...any) (string, error) { return "", fmt.Errorf(format, args...) }

func (s *Session) help(context.Context, string) (string, error) {
	return s.Commands().Help(), nil
}

func (s *Session) switchTo(m agent.Mode) func(context.Context, string) (string, error) {
	said := map[agent.Mode]string{
		agent.Plan: "Plan mode: I read and plan, and change nothing. /act switches back.",
		agent.Act:  "Act mode: I edit files and run commands.",
	}
	return func(context.Context, string) (string, error) {
		if err := s.SetMode(m); err != nil {
			return "", err
		}
		return said[m], nil
	}
}

func (s *Session) describe(context.Context, string) (string, error) {
	store := s.Store()
	var b strings.Builder
	row := func(name, value string) { fmt.Fprintf(&b, "- %s: %s\n", name, value) }
	b.WriteString("This session:\n\n")
	row("id", store.ID())
	if title := store.Title(); title != "" {
		row("title", title)
	}
	if path := store.Path(); path != "" {
		row("file", path)
	} else {
		row("file", "none, kept in memory")
	}
	row("workspace", strings.Join(s.workspace.Roots(), ", "))
	row("mode", string(s.Mode()))
	row("model", s.answering())
	row("entries", fmt.Sprint(store.Len()))
	return strings.TrimRight(b.String(), "\n"), nil
}

// beginAnew puts an empty conversation in the place of this one, which stays stored. The editor
// goes on with the id it knows (ACP, "/new").
func (s *Session) beginAnew(ctx context.Context, _ string) (string, error) {
	fresh, unkept := s.server.newStore(s.place)
	old := s.Store()
	if err := old.Flush(ctx); err != nil {
		return "", fmt.Errorf("the conversation so far is not safely on disk, so it stays: %w", err)
	}
	s.mu.Lock()
	s.store, s.heard, s.beside = fresh, 0, nil
	s.mu.Unlock()
	if s.editor.Begin != nil {
		s.editor.Begin(fresh.ID())
	}
	s.wire(agent.Act)
	s.theAgent().Show(agent.ModeChanged{Mode: agent.Act})
	s.tellTitle()
	if unkept != nil {
		s.noteUnkept(unkept)
	}
	reply := "A new conversation begins here."
	if old.Len() > 0 && old.Path() != "" {
		reply += " The one so far is kept as session " + old.ID() + "."
	}
	return reply, old.Close()
}

func (s *Session) howToResume(_ context.Context, id string) (string, error) {
	if id == "" {
		id = "ID"
	}
	return fmt.Sprintf("Earlier conversations are in the editor's own list of sessions; in a shell, `nimlet session list` shows them and "+
		"`nimlet run --session %s \"…\"` goes on with one.", id), nil
}

func (s *Session) rename(_ context.Context, title string) (string, error) {
	store := s.Store()
	title = strings.Join(strings.Fields(title), " ")
	if title == "" && store.Title() == "" {
		return "This session has no name yet. /name TITLE gives it one.", nil
	}
	if title == "" {
		return "This session is named \"" + store.Title() + "\".", nil
	}
	if err := store.Append(session.Name{Name: title}); err != nil {
		return "", err
	}
	s.tellTitle()
	return "Named \"" + title + "\".", nil
}

func (s *Session) showPermissions(_ context.Context, args string) (string, error) {
	switch args {
	case "clear":
		if err := s.permissions.Clear(); err != nil {
			return "", err
		}
		return "What you allowed is taken back.\n\n" + s.permissionList(), nil
	case "":
		return s.permissionList(), nil
	}
	return usage("takes nothing or \"clear\", not %q", args)
}

func (s *Session) permissionList() string {
	var b strings.Builder
	if s.permissions.Yolo() {
		b.WriteString("Everything is allowed until nimlet ends (/yolo off ends it).\n")
	}
	grants := s.permissions.Grants()
	if len(grants) == 0 {
		b.WriteString("Nothing is allowed for longer than one call.")
		return b.String()
	}
	b.WriteString("Allowed without asking:\n")
	for _, g := range grants {
		fmt.Fprintf(&b, "\n- `%s` (%s)", g.Key, g.Scope)
	}
	return b.String()
}

func (s *Session) yolo(_ context.Context, args string) (string, error) {
	switch args {
	case "", "on":
		s.permissions.SetYolo(true)
		return "Everything is allowed without asking, dangerous commands included, until nimlet ends. /yolo off takes it back.", nil
	case "off":
		s.permissions.SetYolo(false)
		return "Asking for permission again.", nil
	}
	return usage("takes nothing or \"off\", not %q", args)
}

func (s *Session) trust(_ context.Context, args string) (string, error) {
	root := s.workspace.Root()
	switch args {
	case "on", "off":
		if err := s.setTrust(args == "on"); err != nil {
			return "", err
		}
	case "":
	default:
		return usage("takes nothing, \"on\" or \"off\", not %q", args)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trusted {
		return root + " is trusted: its own settings, permissions, tools and skills count.", nil
	}
	return root + " is not trusted: its own settings, permissions, tools and skills are left out. /trust on changes that.", nil
}
