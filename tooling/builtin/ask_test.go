package builtin

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nimlet/session"
	"nimlet/tooling"
)

func TestAskUser(t *testing.T) {
	tool := newAskUser()
	var question tooling.Question
	ask := func(given tooling.Answer, err error) func(context.Context, tooling.Question) (tooling.Answer, error) {
		return func(_ context.Context, q tooling.Question) (tooling.Answer, error) {
			question = q
			return given, err
		}
	}
	call := callOf(t, tool, args{"question": "Which?", "options": []string{"a", "b"}})
	for name, test := range map[string]struct {
		ask  func(context.Context, tooling.Question) (tooling.Answer, error)
		want session.Result
	}{
		"a choice":  {ask(tooling.Answer{Text: "b"}, nil), session.Result{Output: "b"}},
		"dismissed": {ask(tooling.Answer{Cancelled: true}, nil), session.Result{Output: "the user dismissed the question without an answer", IsError: true}},
		"an error":  {ask(tooling.Answer{}, errors.New("the editor is gone")), session.Result{Output: "the editor is gone", IsError: true}},
		"nobody":    {nil, session.Result{Output: "nobody can be asked here; decide yourself, or end with the question", IsError: true}},
	} {
		got, err := tool.Run(t.Context(), tooling.Env{Ask: test.ask}, call)
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	want := tooling.Question{CallID: call.ID, Prompt: "Which?", Options: []tooling.Option{{Label: "a"}, {Label: "b"}}, AllowOther: true}
	if diff := cmp.Diff(want, question); diff != "" {
		t.Error(diff)
	}
}

func TestAskUserEndsWithTheTurn(t *testing.T) {
	tool := newAskUser()
	_, err := tool.Run(cancelled(t), tooling.Env{Ask: func(ctx context.Context, _ tooling.Question) (tooling.Answer, error) {
		return tooling.Answer{}, ctx.Err()
	}}, callOf(t, tool, args{"question": "Which?"}))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
