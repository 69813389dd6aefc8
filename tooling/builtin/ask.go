package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"nimlet/session"
	"nimlet/tooling"
)

type askUser struct{}

type askArgs struct {
	Question string   `json:"question"`
	Options  []string `json:"options"`
}

func newAskUser() tooling.Tool { return askUser{} }

// Spec implements tooling.Tool.
func (askUser) Spec() tooling.Spec {
	return tooling.Spec{
		Name: "ask_user",
		Description: "Ask the user something that only they can decide, and wait for the answer. " +
			"Give options where there are some to choose from; the user may answer in their own words where the editor can take them.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"question":{"type":"string","minLength":1},` +
			`"options":{"type":"array","items":{"type":"string","minLength":1},"description":"the answers to choose from; none for an answer in the user's own words"}},` +
			`"required":["question"],"additionalProperties":false}`),
		Capabilities: []tooling.Capability{tooling.User},
		Kind:         tooling.KindOther,
	}
}

// Permission implements tooling.Guarded.
func (askUser) Permission(session.Call) tooling.Need { return tooling.Need{Free: true} }

// Describe implements tooling.Describer.
func (askUser) Describe(call session.Call) (string, []session.Location) {
	args, err := decode[askArgs](call)
	if err != nil {
		return "", nil
	}
	return args.Question, nil
}

var errNobody = fmt.Errorf("%w; decide yourself, or end with the question", tooling.ErrNobody)

// Run implements tooling.Tool.
func (askUser) Run(ctx context.Context, env tooling.Env, call session.Call) (session.Result, error) {
	args, err := decode[askArgs](call)
	if err != nil {
		return failed(err), nil
	}
	if env.Ask == nil {
		return failed(errNobody), nil
	}
	question := tooling.Question{CallID: call.ID, Prompt: args.Question, AllowOther: true}
	for _, label := range args.Options {
		question.Options = append(question.Options, tooling.Option{Label: label})
	}
	given, err := env.Ask(ctx, question)
	switch {
	case errors.Is(err, tooling.ErrNobody):
		err = errNobody
	case err == nil && given.Cancelled:
		err = errors.New("the user dismissed the question without an answer")
	}
	return answer(ctx, session.Result{Output: given.Text}, err)
}
