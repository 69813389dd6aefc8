package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"nimlet/internal/acptest"
)

func TestATurnThatIsCancelledAnywhereLeavesTheSessionWhole(t *testing.T) {
	d := sit(t)
	d.write("a.txt", "alpha\n")
	d.On("session/request_permission", acptest.Choose("allow_once"))
	id := d.New(d.dir)
	work := "read a.txt\ngrep alpha\nbash echo one; sleep 0.05; echo two\n" + `edit {"path": "a.txt", "old_text": "alpha", "new_text": "alpha"}` +
		"\nread a.txt\n" + strings.Repeat("some words ", 2000)
	whole := len(d.Say(id, work))
	for i := range 20 {
		start := len(d.Updates(id))
		turn := d.Prompt(id, work)
		d.AwaitUpdates(id, start+rand.IntN(whole), turn)
		d.Cancel(id)
		if _, err := turn.Answer(); err != nil {
			t.Fatalf("a cancelled turn is answered with the error %v", err)
		}
		want := fmt.Sprintf("this is what I want now, %d", i)
		if got := acptest.Text(d.Say(id, want), "agent_message_chunk"); !strings.Contains(got, want) {
			t.Errorf("after a cancel %q is answered with %q", want, got)
		}
	}
	mustBeWhole(t, d.history(id))
}

func TestACancelThatRacesTheEndOfATurnNeverHitsTheNextOne(t *testing.T) {
	d := sit(t)
	id := d.New(d.dir)
	natural := 0
	for i := range 200 {
		start := len(d.Updates(id))
		turn := d.Prompt(id, "a few words")
		d.AwaitUpdates(id, start+i%4, turn)
		d.Cancel(id)
		next := d.Prompt(id, fmt.Sprintf("next %d", i))
		raw, err := turn.Answer()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), "end_turn") {
			natural++
		}
		next.Wait("end_turn")
		d.Cancel(id) // of an idle session
	}
	t.Logf("%d of 200 turns ended before their cancel", natural)
	mustBeWhole(t, d.history(id))
}

func TestEveryRequestIsAnsweredOnceHoweverItIsCancelled(t *testing.T) {
	d := sit(t)
	id := d.New(d.dir)
	var calls []*acptest.Call
	for i := range 1000 {
		var call *acptest.Call
		switch i % 3 {
		case 0: // cancelled before it is sent
			d.Notify("$/cancel_request", map[string]any{"requestId": d.NextID()})
			call = d.Go("session/list", map[string]any{"cwd": d.dir})
		case 1: // while it is answered
			call = d.Go("session/list", map[string]any{"cwd": d.dir})
			d.Notify("$/cancel_request", map[string]any{"requestId": call.ID})
		default: // after it was
			call = d.Go("session/set_mode", map[string]any{"sessionId": id, "modeId": "act"})
			call.Answer()
			d.Notify("$/cancel_request", map[string]any{"requestId": call.ID})
		}
		calls = append(calls, call)
	}
	for _, call := range calls {
		if _, err := call.Answer(); err != nil && err.Code != -32800 {
			t.Errorf("answered with %v", err)
		}
	}
	d.Say(id, "hello")
}

func TestACommandThatIsCutOffDoesNotAffectTheNext(t *testing.T) {
	d := sit(t, "--yolo")
	id := d.New(d.dir)
	for name, command := range map[string]string{
		"an open double quote":  `echo "open`,
		"an open single quote":  `echo 'open`,
		"an open here-document": `cat <<END`,
		"an open parenthesis":   `( echo open`,
		"an open substitution":  `echo $(echo open`,
		"200 KB":                "echo " + strings.Repeat("x", 200<<10) + " | wc -c",
		"200 KB of lines":       strings.Repeat(": a line\n", 25_000) + "echo end",
		"bytes":                 "printf '\\377\\000\\033[31m'",
		"an exit":               "exit 7",
		"a changed folder":      "cd /; export A=changed; set -e; exec sleep 0",
		"reading input":         "cat; read x; echo read $x",
	} {
		t.Run(name, func(t *testing.T) {
			d.Say(id, "bash "+quoted(command))
			updates := d.Say(id, `bash echo fine; pwd; echo "A is $A"`)
			if err := contains(acptest.Text(updates, "agent_message_chunk"), "fine", d.dir, "A is \n"); err != nil {
				t.Error(err)
			}
		})
	}
}
