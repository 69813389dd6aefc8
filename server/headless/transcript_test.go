package headless

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"nimlet/session"
)

func store(t *testing.T, events ...session.Event) *session.Store {
	t.Helper()
	s := session.InMemory(session.Header{Workspace: t.TempDir()})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Append(events...); err != nil {
		t.Fatal(err)
	}
	return s
}

func call(id, name, input string) session.ToolUse {
	return session.ToolUse{Call: session.Call{ID: id, Name: name, Input: json.RawMessage(input)}}
}

func TestTranscript(t *testing.T) {
	var long strings.Builder
	for i := range 30 {
		fmt.Fprintf(&long, "line %d\n", i+1)
	}
	s := store(t,
		session.User{Content: []session.Part{
			session.Text{Text: "look\n\nhere"},
			session.Image{MIMEType: "image/png", Data: "AAAA"},
			session.File{Filename: "a.go", Path: "/x/a.go"},
		}},
		session.Assistant{Content: []session.Part{
			session.Thinking{Thinking: "hm"}, session.Text{Text: "I look."},
			call("1", "read", `{"path": "a.go"}`), call("2", "git", `{}`),
		}},
		session.ToolResult{ID: "1", Output: "\x1b[31mred\n"},
		session.ToolResult{ID: "2", Output: long.String(), IsError: true},
		session.Assistant{Content: []session.Part{session.Text{Text: "Done.\n"}}},
		session.Mark{Command: &session.Exchange{Text: "/plan", Reply: "Plan mode."}}.Event(),
	)
	var got strings.Builder
	if err := printTranscript(&got, s); err != nil {
		t.Fatal(err)
	}
	shown, _, _ := strings.Cut(long.String(), "line 21\n")
	want := `> look
>
> here
> [attached: image/png]
> [attached: a.go]

~ hm

I look.

[read {"path":"a.go"}]
    [31mred

[git failed]
    ` + strings.ReplaceAll(strings.TrimSpace(shown), "\n", "\n    ") + `
    … 10 more lines (--json has them all)

Done.

> /plan

Plan mode.
`
	if got.String() != want {
		t.Errorf("the transcript is\n%s\nwant\n%s", got.String(), want)
	}
}

func TestEventsAreShownAsStored(t *testing.T) {
	s := store(t, session.User{Content: []session.Part{session.Text{Text: "a\nb"}}}, session.Name{Name: "n"})
	var got strings.Builder
	if err := printEvents(&got, s); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(got.String()), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], `{"type":"user"`) || !strings.HasPrefix(lines[1], `{"type":"name"`) {
		t.Errorf("the events are\n%s", got.String())
	}
}

type fullDisk struct{}

var errFull = errors.New("no space left")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestAFailedWriteIsTold(t *testing.T) {
	s := store(t, session.User{Content: []session.Part{session.Text{Text: "a"}}})
	if err := printTranscript(fullDisk{}, s); !errors.Is(err, errFull) {
		t.Errorf("the transcript ends with %v", err)
	}
	if err := printEvents(fullDisk{}, s); !errors.Is(err, errFull) {
		t.Errorf("the events end with %v", err)
	}
}
