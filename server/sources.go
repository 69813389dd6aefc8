package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"nimlet/agent"
	"nimlet/agent/config"
	"nimlet/session"
)

// What a session is built from lies in files that a person edits meanwhile. A change is seen at the
// next prompt, at the price of asking the system for each file's time.

// sources lists the files and folders that wire reads, whether or not they are there.
func (s *Session) sources(skills []agent.Skill, templates []agent.Template) []string {
	o, root := s.server.opts, s.workspace.Root()
	list := append(config.InstructionFiles(o.Home, root), o.Home.ConfigFile(), o.Home.AuthFile(), o.Home.SystemFile(), o.Home.AppendSystemFile())
	if o.ConfigFile != "" {
		list = append(list, o.ConfigFile)
	}
	if s.trusted {
		for _, name := range []string{"config.json", "SYSTEM.md", "APPEND_SYSTEM.md"} {
			list = append(list, filepath.Join(root, ".nimlet", name))
		}
	}
	list = append(list, config.SkillRoots(o.Home, o.UserHome, root, s.trusted)...)
	list = append(list, config.PromptRoots(o.Home, o.UserHome, root, s.trusted)...)
	for _, k := range skills {
		list = append(list, k.Dir, k.File)
	}
	for _, t := range templates {
		list = append(list, t.File)
	}
	return list
}

// stampOf changes whenever one of the files does.
func stampOf(files []string) string {
	var b strings.Builder
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			fmt.Fprintf(&b, "%d.%d,", info.ModTime().UnixNano(), info.Size())
		} else {
			b.WriteString("-,")
		}
	}
	return b.String()
}

// refresh builds the session anew when what it was built from has changed. It runs before a turn.
func (s *Session) refresh() {
	s.mu.Lock()
	same := stampOf(s.watched) == s.stamp
	mode := s.agent.Mode()
	s.mu.Unlock()
	if same {
		return
	}
	s.wire(mode)
	if s.editor.Commands != nil {
		s.editor.Commands(s.Commands())
	}
}

// nearby returns the instructions that hold where a file was read, the first time that one is read
// there. They stand with the result, so that what came before them stays as the provider has it.
func (s *Session) nearby(call session.Call, r session.Result) string {
	if call.Name != "read" || r.IsError || len(r.Locations) == 0 {
		return ""
	}
	found, problems := config.Nearby(filepath.Clean(s.place.Dir), r.Locations[0].Path)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range problems {
		s.noteProblem(p)
	}
	var text strings.Builder
	for _, i := range found {
		if s.beside == nil {
			s.beside = map[string]bool{}
		}
		if !s.beside[i.File] {
			s.beside[i.File] = true
			text.WriteString("\n\n" + agent.Instruction(i).String())
		}
	}
	return text.String()
}

// skillCommands let a person have the model read a skill at once.
func skillCommands(skills []agent.Skill) agent.Commands {
	var list agent.Commands
	for _, k := range skills {
		name := "skill:" + strings.ToLower(k.Name)
		if command, _, _ := agent.ParseCommand("/" + name); command != name {
			continue // a name that cannot be typed; the model can still read it
		}
		list = append(list, agent.Command{Name: name, Hint: "[request]", Description: k.Description, Expand: func(args string) (string, error) {
			text, err := os.ReadFile(k.File)
			if err != nil {
				return "", err
			}
			return strings.TrimSpace(fmt.Sprintf("Use the skill %q, which stands in %s:\n\n%s\n\n%s", k.Name, k.Dir, strings.TrimSpace(string(text)), args)), nil
		}})
	}
	return list
}

func templateCommand(t agent.Template) agent.Command {
	c := agent.Command{Name: t.Name, Description: t.Description, Expand: func(args string) (string, error) { return t.Expand(args), nil }}
	if t.TakesArguments() {
		c.Hint = "[arguments]"
	}
	return c
}
