package acp_test

import (
	"fmt"
	"strings"
	"testing"

	"nimlet/internal/acptest"
	"nimlet/server"
)

func yolo(o *server.Options) { o.Yolo = true }

func TestCancelStopsARunningCommandAndTheSessionGoesOn(t *testing.T) {
	d := sit(t, yolo)
	d.Initialize(`{}`)
	id := d.New(d.dir)
	turn := d.Prompt(id, "bash sleep 30")
	d.Await(acptest.Status("in_progress"))
	d.Cancel(id)
	turn.Wait("cancelled")
	if u := d.Await(acptest.Status("failed")); u.String("toolCallId") == "" {
		t.Error(u)
	}
	d.Say(id, "what did I say first?")
}

func TestCancelRequestOfAPromptIsAnsweredAsCancelled(t *testing.T) {
	d := sit(t, yolo)
	d.Initialize(`{}`)
	id := d.New(d.dir)
	turn := d.Prompt(id, "bash sleep 30")
	d.Await(acptest.Status("in_progress"))
	d.Notify("$/cancel_request", map[string]any{"requestId": turn.ID})
	turn.Wait("cancelled")
}

func TestCancelOfOneSessionLeavesTheOthers(t *testing.T) {
	d := sit(t, yolo)
	d.Initialize(`{}`)
	a, b := d.New(d.dir), d.New(d.dir)
	turnA, turnB := d.Prompt(a, "bash sleep 30"), d.Prompt(b, "bash sleep 1; echo b is done")
	for _, id := range []string{a, b} {
		d.Await(func(u acptest.Update) bool { return u.SessionID == id && u.String("status") == "in_progress" })
	}
	d.Cancel(a)
	turnA.Wait("cancelled")
	turnB.Wait("end_turn")
}

func TestCancelReachesTheQueueAndNothingAfterIt(t *testing.T) {
	d := sit(t, yolo)
	d.Initialize(`{}`)
	id := d.New(d.dir)
	running, queued := d.Prompt(id, "bash sleep 30"), d.Prompt(id, "second")
	d.Cancel(id)
	later := d.Prompt(id, "third")
	running.Wait("cancelled")
	queued.Wait("cancelled")
	later.Wait("end_turn")
	if text := acptest.Text(d.Updates(id), "agent_message_chunk"); strings.Contains(text, "second") || !strings.Contains(text, "third") {
		t.Errorf("answered %q", text)
	}
}

func TestASecondPromptIsQueuedAndAnswered(t *testing.T) {
	d := sit(t, yolo)
	d.Initialize(`{}`)
	id := d.New(d.dir)
	first, second := d.Prompt(id, "bash sleep 0.3; echo one"), d.Prompt(id, "two")
	second.Wait("end_turn")
	first.Wait("end_turn")
	text := acptest.Text(d.Updates(id), "agent_message_chunk")
	if one, two := strings.Index(text, "one"), strings.Index(text, "two"); one < 0 || two < one {
		t.Errorf("answered %q", text)
	}
}

func TestAFullQueueIsAnError(t *testing.T) {
	d := sit(t, yolo)
	d.Initialize(`{}`)
	id := d.New(d.dir)
	var turns []*acptest.Call
	for range 17 {
		turns = append(turns, d.Prompt(id, "bash sleep 30"))
	}
	if _, err := d.Prompt(id, "one too many").Answer(); err == nil || err.Code != -32603 || !strings.Contains(err.Message, "queue full") {
		t.Errorf("answered %v", err)
	}
	d.Cancel(id)
	for _, turn := range turns {
		turn.Wait("cancelled")
	}
}

func TestALateCancelNeverHitsTheNextPrompt(t *testing.T) {
	d := sit(t, nil)
	d.Initialize(`{}`)
	id := d.New(d.dir)
	for i := range 200 {
		turn := d.Prompt(id, fmt.Sprintf("turn %d", i))
		d.Cancel(id)
		next := d.Prompt(id, "the next one")
		if _, err := turn.Answer(); err != nil {
			t.Fatal(err)
		}
		next.Wait("end_turn")
	}
}

func TestCancelTwiceAndIdleIsHarmless(t *testing.T) {
	d := sit(t, yolo)
	d.Initialize(`{}`)
	id := d.New(d.dir)
	d.Cancel(id)
	turn := d.Prompt(id, "bash sleep 30")
	d.Await(acptest.Status("in_progress"))
	d.Cancel(id)
	d.Cancel(id)
	turn.Wait("cancelled")
	d.Cancel(id)
	d.Say(id, "hello")
}

func TestCancelAfterALoadOfTheLiveSessionStillWorks(t *testing.T) {
	d := sit(t, yolo)
	d.Initialize(`{}`)
	id := d.New(d.dir)
	d.Say(id, "hello")
	turn := d.Prompt(id, "bash sleep 30")
	d.Await(acptest.Status("in_progress"))
	d.Load(id, d.dir)
	d.Cancel(id)
	turn.Wait("cancelled")
}

func TestCancelWithdrawsTheQuestionItInterrupts(t *testing.T) {
	d := sit(t, nil)
	d.Initialize(`{}`)
	id := d.New(d.dir)
	asked := make(chan struct{})
	d.On("session/request_permission", func(params jsonRaw) *acptest.Answer {
		close(asked)
		return nil // never answers
	})
	turn := d.Prompt(id, "bash sleep 30")
	<-asked
	d.Cancel(id)
	turn.Wait("cancelled")
	if notes := strings.Join(d.Notes(), "\n"); !strings.Contains(notes, "$/cancel_request") {
		t.Errorf("the open request was not withdrawn: %q", notes)
	}
}

func TestCloseAnswersWhenTheTurnIsOver(t *testing.T) {
	d := sit(t, yolo)
	d.Initialize(`{}`)
	id := d.New(d.dir)
	turn := d.Prompt(id, "bash sleep 30")
	d.Await(acptest.Status("in_progress"))
	d.Call("session/close", map[string]any{"sessionId": id}, nil)
	turn.Wait("cancelled")
	d.Call("session/close", map[string]any{"sessionId": id}, nil)
	d.Load(id, d.dir)
	d.Say(id, "hello")
}

func TestSteeringNeedsARunningTurn(t *testing.T) {
	d := sit(t, yolo)
	d.Initialize(`{}`)
	id := d.New(d.dir)
	steer := map[string]any{"sessionId": id, "prompt": []any{map[string]any{"type": "text", "text": "to the left"}}}
	var r struct{ Queued bool }
	d.Call("_nimlet/steer", steer, &r)
	if r.Queued {
		t.Error("queued without a turn")
	}
	turn := d.Prompt(id, "bash sleep 0.5")
	d.Await(acptest.Status("in_progress"))
	d.Call("_nimlet/steer", steer, &r)
	turn.Wait("end_turn")
	if text := acptest.Text(d.Updates(id), "user_message_chunk"); !r.Queued || text != "to the left" {
		t.Errorf("queued %t, entered %q", r.Queued, text)
	}
}
