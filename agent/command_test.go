package agent_test

import (
	"strings"
	"testing"

	"nimlet/agent"
)

func TestWhatIsASlashCommand(t *testing.T) {
	for _, c := range []struct {
		text, name, args string
		ok               bool
	}{
		{"/plan", "plan", "", true},
		{"/PLAN", "plan", "", true},
		{"  /name  my  title \n", "name", "my  title", true},
		{"/skill:go-test x", "skill:go-test", "x", true},
		{"/usr/bin is full", "", "", false},
		{"/", "", "", false},
		{"// comment", "", "", false},
		{"what does /plan do", "", "", false},
		{"/plan.md is old", "", "", false},
	} {
		name, args, ok := agent.ParseCommand(c.text)
		if name != c.name || args != c.args || ok != c.ok {
			t.Errorf("ParseCommand(%q) = %q, %q, %t; want %q, %q, %t", c.text, name, args, ok, c.name, c.args, c.ok)
		}
	}
}

func TestAnUnknownCommandIsAnsweredWithTheClosest(t *testing.T) {
	list := agent.Commands{{Name: "plan"}, {Name: "permissions"}, {Name: "name"}, {Name: "resume", Hidden: true}}
	for typed, want := range map[string]string{"plna": "/plan?", "perm": "/permissions?", "xyzzy": "no command /xyzzy. /help"} {
		if got := list.Unknown(typed); !strings.Contains(got, want) {
			t.Errorf("Unknown(%q) = %q, want something with %q", typed, got, want)
		}
	}
	if got := list.Unknown("resumee"); strings.Contains(got, "/resume?") {
		t.Errorf("a hidden command is offered: %q", got)
	}
}
