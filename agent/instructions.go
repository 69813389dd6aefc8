package agent

import (
	"fmt"
	"runtime"
	"strings"
)

// A Prompt is what the system prompt is made of. Its text depends on nothing that changes between
// turns, so that providers can keep it in their caches.
type Prompt struct {
	Replace   string // SYSTEM.md: stands in place of the built-in text; "" for none
	Append    string // APPEND_SYSTEM.md; "" for none
	Workspace string // absolute path
	// Instructions are the AGENTS.md files, the user's own first.
	Instructions []Instruction
	Skills       []Skill
}

// An Instruction is the text of one AGENTS.md.
type Instruction struct {
	File string // absolute path
	Own  bool   // the user's, not the project's
	Text string
}

// String is the instruction as a model is told it: with where it comes from.
func (i Instruction) String() string {
	whose := "The project's instructions"
	if i.Own {
		whose = "The user's instructions"
	}
	return whose + " (" + i.File + "):\n\n" + i.Text
}

const builtInPrompt = `You are nimlet, a coding agent that works inside the user's editor.
You read, search, edit and run things in the user's workspace with the tools you are given.

- Look before you change: read the file you are about to edit, search before you assume.
- Make the smallest change that does what was asked, in the style of the code around it.
- After a change, check it: run the tests or the build where there is one.
- When a call is refused or fails, read why; do not repeat it unchanged.
- Ask with ask_user when the request can be read in two ways that lead to different work.
- Say in few words what you did and what is left.`

// SystemPrompt returns the text that stands before every conversation.
func SystemPrompt(p Prompt) string {
	var b strings.Builder
	if p.Replace != "" {
		b.WriteString(p.Replace)
	} else {
		b.WriteString(builtInPrompt)
	}
	fmt.Fprintf(&b, "\n\nWorkspace: %s\nOperating system: %s", p.Workspace, runtime.GOOS)
	for _, i := range p.Instructions {
		b.WriteString("\n\n" + i.String())
	}
	if len(p.Skills) > 0 {
		b.WriteString("\n\nSkills, to be read with read_skill when their time comes:")
		for _, s := range p.Skills {
			fmt.Fprintf(&b, "\n- %s: %s", s.Name, s.Description)
		}
	}
	if p.Append != "" {
		b.WriteString("\n\n" + p.Append)
	}
	return b.String()
}
