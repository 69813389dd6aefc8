package headless

import (
	"io"
	"os"
	"strings"
	"testing"

	"nimlet/agent"
	"nimlet/session"
)

// show runs f on a text view of two pipes and returns what came out of them.
func show(t *testing.T, f func(*text)) (answer, side string) {
	t.Helper()
	read := func(name string) (*os.File, func() string) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		all := make(chan string, 1)
		go func() {
			data, err := io.ReadAll(r)
			if err != nil {
				t.Errorf("reading %s: %v", name, err)
			}
			all <- string(data)
		}()
		return w, func() string { w.Close(); defer r.Close(); return <-all }
	}
	out, answered := read("the answer")
	err, said := read("standard error")
	f(newText(newOutput(out), err))
	return answered(), said()
}

func TestMessagesAreSetApartAndEndTheirLine(t *testing.T) {
	call := session.Call{ID: "1", Name: "read"}
	answer, side := show(t, func(v *text) {
		v.emit(agent.TurnStarted{})
		v.emit(agent.TextDelta{MessageID: "a", Text: "I look "})
		v.emit(agent.TextDelta{MessageID: "a", Text: "first."})
		v.emit(agent.ToolStarted{Call: call, Card: agent.Card{Title: "Read\nx"}})
		v.emit(agent.ToolFinished{Call: call, Result: session.Result{IsError: true, Output: "\nno such file\nmore"}})
		v.emit(agent.TextDelta{MessageID: "b", Text: ""})
		v.emit(agent.TextDelta{MessageID: "b", Text: "It is not there.\n"})
		v.emit(agent.Notice{Level: agent.Warning, Title: "odd", Text: "one\ntwo\n"})
		v.end(outcome{reason: agent.Completed})
	})
	if want := "I look first.\n\nIt is not there.\n"; answer != want {
		t.Errorf("the answer is %q, want %q", answer, want)
	}
	if want := "> Read x\n! Read x: no such file\nwarning: odd\n  one\n  two\n"; side != want {
		t.Errorf("standard error has %q, want %q", side, want)
	}
}

func TestAnInterruptSaysHowToGoOn(t *testing.T) {
	for _, o := range []struct {
		outcome
		want string
	}{
		{outcome{session: "17", stored: true, reason: agent.Cancelled}, "interrupted; nimlet run --session 17 goes on from here\n"},
		{outcome{session: "17", reason: agent.Cancelled}, ""}, // kept in memory, so gone
		{outcome{session: "17", stored: true, reason: agent.Completed}, ""},
	} {
		if _, side := show(t, func(v *text) { v.end(o.outcome) }); side != o.want {
			t.Errorf("%+v says %q, want %q", o.outcome, side, o.want)
		}
	}
}

func TestTextFromElsewhereCannotSteerTheScreen(t *testing.T) {
	const evil = "a\x1b]0;title\x07b\rc\u009bd\te\n"
	if got, want := plain(evil), "a]0;titlebcd\te\n"; got != want {
		t.Errorf("plain(%q) = %q, want %q", evil, got, want)
	}
	answer, side := show(t, func(v *text) {
		v.clean = plain // as on a terminal
		v.emit(agent.TextDelta{MessageID: "a", Text: evil})
		v.emit(agent.ToolStarted{Card: agent.Card{Title: evil}})
		v.emit(agent.Notice{Title: evil, Text: evil})
	})
	if all := answer + side; strings.ContainsAny(all, "\x1b\x07\r\u009b") {
		t.Errorf("control characters got through: %q", all)
	}
}
