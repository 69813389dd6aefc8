package agent_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"nimlet/agent"
	"nimlet/agent/model"
)

// texts are the text deltas of a turn.
func (b *bench) texts() []string {
	var list []string
	for _, e := range b.shown() {
		if d, ok := e.(agent.TextDelta); ok {
			list = append(list, d.Text)
		}
	}
	return list
}

func TestTheFirstChunkIsShownAtOnceAndTheRestInBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b *bench
		m := &script{answers: []reply{func(_ context.Context, yield func(model.Chunk, error) bool) {
			yield(model.Text("a"), nil)
			if got := strings.Join(b.texts(), "|"); got != "a" {
				t.Errorf("after the first chunk %q is shown", got)
			}
			yield(model.Text("b"), nil)
			yield(model.Text("c"), nil)
			if got := strings.Join(b.texts(), "|"); got != "a" {
				t.Errorf("within the delay %q is shown", got)
			}
			time.Sleep(31 * time.Millisecond) // the bubble's clock
			synctest.Wait()
			if got := strings.Join(b.texts(), "|"); got != "a|bc" {
				t.Errorf("after the delay %q is shown", got)
			}
			yield(model.Text(strings.Repeat("x", 5000)), nil)
			if got := len(b.texts()); got != 3 {
				t.Errorf("a full batch is not sent at once: %d deltas", got)
			}
			yield(model.Text("end"), nil)
		}}}
		b = newBench(t, nil, m)
		b.turn(t, "go", agent.Completed)
		if got := b.texts()[3]; got != "end" {
			t.Errorf("the last delta is %q", got)
		}
	})
}

func TestNoBatchEndsInsideACharacter(t *testing.T) {
	const text = "日本語 👩‍👩‍👧 e\u0301 \xff end"
	var chunks []model.Chunk
	for i := range len(text) {
		chunks = append(chunks, model.Text(text[i:i+1]))
	}
	b := newBench(t, nil, &script{answers: []reply{say(chunks...)}})
	b.turn(t, "go", agent.Completed)
	var all strings.Builder
	for _, d := range b.texts() {
		if strings.ContainsRune(strings.ReplaceAll(d, "\xff", ""), utf8.RuneError) {
			t.Errorf("a batch cuts a character: %q", d)
		}
		all.WriteString(d)
	}
	if all.String() != text {
		t.Errorf("shown %q, want %q", all.String(), text)
	}
}

func TestFiftyThousandChunksArriveInOrder(t *testing.T) {
	const n = 50_000
	m := &script{answers: []reply{func(_ context.Context, yield func(model.Chunk, error) bool) {
		for range n {
			if !yield(model.Text("tok "), nil) {
				return
			}
		}
	}}}
	b := newBench(t, nil, m)
	b.turn(t, "go", agent.Completed)
	if got := strings.Join(b.texts(), ""); got != strings.Repeat("tok ", n) {
		t.Errorf("%d bytes arrived, want %d", len(got), 4*n)
	}
}

func TestTextAndThoughtKeepTheirOrder(t *testing.T) {
	m := &script{answers: []reply{say(model.Text("a"), model.Text("b"), model.Thinking{Text: "c"}, model.Text("d"))}}
	b := newBench(t, nil, m)
	b.turn(t, "go", agent.Completed)
	b.checkOutline(t, "turn", "text a", "text b", "thought c", "text d", "end completed")
}
