package acp

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"nimlet/tooling"
)

// A question is asked in the best way the client has: a form (elicitation/create), else a choice
// dressed as a permission, else not at all, which is an answer too: cancelled. Options travel as
// index strings, because labels may repeat.

var cancelledAnswer = tooling.Answer{Cancelled: true}

func (e *editor) ask(ctx context.Context, q tooling.Question) (tooling.Answer, error) {
	if q.CallID != "" {
		q.CallID = e.unique(q.CallID)
	}
	if e.c.caps.Elicitation.V.Form.V != nil && e.c.canCall(methodElicitation) {
		answer, err := e.elicit(ctx, q)
		if !errors.Is(err, errCannot) {
			return answer, err
		}
	}
	if len(q.Options) == 0 || e.c.settings.QuestionFallback == "cancel" || !e.c.canCall(methodPermission) {
		return cancelledAnswer, tooling.ErrNobody
	}
	answer, err := e.choose(ctx, q)
	if errors.Is(err, errCannot) {
		err = tooling.ErrNobody
	}
	return answer, err
}

// elicit asks by a form.
func (e *editor) elicit(ctx context.Context, q tooling.Question) (tooling.Answer, error) {
	shown := fitQuestion(q, e.limit)
	request := elicitationRequest{
		SessionID: e.sessionID(), ToolCallID: q.CallID, Mode: "form", Message: asker(q) + shown.Prompt, RequestedSchema: form(shown),
	}
	var r elicitationResponse
	if err := e.c.call(ctx, methodElicitation, request, &r); err != nil {
		return cancelledAnswer, ended(ctx, err)
	}
	if r.Action != "accept" {
		return cancelledAnswer, nil
	}
	if other := r.Content.Other.V; q.AllowOther && other != nil && *other != "" {
		return tooling.Answer{Text: *other}, nil
	}
	if choice := r.Content.Choice.V; choice != nil {
		return chosen(q, *choice), nil
	}
	return cancelledAnswer, nil
}

// ended keeps the reasons a caller acts on and makes of any other a dismissed question.
func ended(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errCannot):
		return err
	default:
		return nil
	}
}

func asker(q tooling.Question) string {
	if q.Source == "" {
		return ""
	}
	return q.Source + ": "
}

// fitQuestion returns q as it is shown: its texts are cut where they would make a line too long.
// The answer is always the whole label.
func fitQuestion(q tooling.Question, limit int) tooling.Question {
	q.Prompt = excerpt(q.Prompt, limit/8) // a form has it twice
	each := limit / (4 * max(1, len(q.Options)))
	options := make([]tooling.Option, len(q.Options))
	for i, o := range q.Options {
		options[i] = tooling.Option{Label: excerpt(o.Label, each), Description: excerpt(o.Description, each)}
	}
	q.Options = options
	return q
}

func form(q tooling.Question) elicitationSchema {
	s := elicitationSchema{Type: "object", Properties: map[string]stringProperty{}}
	if len(q.Options) > 0 {
		choice := stringProperty{Type: "string", Title: q.Prompt}
		for i, o := range q.Options {
			choice.OneOf = append(choice.OneOf, enumOption{Const: strconv.Itoa(i), Title: o.Label, Description: o.Description})
		}
		s.Properties["choice"] = choice
	}
	switch {
	case q.AllowOther && len(q.Options) > 0:
		s.Properties["other"] = stringProperty{Type: "string", Title: "Or in your own words"}
	case q.AllowOther:
		s.Properties["other"] = stringProperty{Type: "string", Title: q.Prompt}
		s.Required = []string{"other"}
	default:
		s.Required = []string{"choice"}
	}
	return s
}

// chosen finds the option of an index.
func chosen(q tooling.Question, index string) tooling.Answer {
	i, err := strconv.Atoi(index)
	if err != nil || i < 0 || i >= len(q.Options) {
		return cancelledAnswer
	}
	return tooling.Answer{Text: q.Options[i].Label}
}

// Of a long list the chooser shows a page at a time.
const (
	chooserPage  = 8
	chooseCancel = "__cancel"
	chooseMore   = "__more"
)

// choose asks by session/request_permission. No option is an "always": a client would remember it.
func (e *editor) choose(ctx context.Context, q tooling.Question) (tooling.Answer, error) {
	card := e.openCard(q)
	answer, err := e.choosePages(ctx, q, card)
	status := completed
	if answer.Cancelled {
		status = failed
	}
	if q.CallID == "" {
		e.send(toolUpdate{SessionUpdate: "tool_call_update", ToolCallID: card.ToolCallID, Status: status})
	}
	return answer, err
}

// openCard returns the card that a question stands on: that of the call it belongs to, or one of
// its own.
func (e *editor) openCard(q tooling.Question) toolUpdate {
	title, _ := headline(asker(q)+q.Prompt, maxTitle)
	card := toolUpdate{ToolCallID: q.CallID, Title: title, Kind: string(tooling.KindOther), Status: pending}
	if q.CallID != "" {
		return card
	}
	card.ToolCallID = e.newID("question")
	shown := card
	shown.SessionUpdate = "tool_call"
	e.send(shown)
	return card
}

func (e *editor) choosePages(ctx context.Context, q tooling.Question, card toolUpdate) (tooling.Answer, error) {
	shown := fitQuestion(q, e.limit)
	for start := 0; ; {
		var r permissionResponse
		err := e.c.call(ctx, methodPermission, permissionRequest{
			SessionID: e.sessionID(), ToolCall: card, Options: chooserOptions(shown, start),
		}, &r)
		if err != nil {
			return cancelledAnswer, ended(ctx, err)
		}
		switch id := r.Outcome.OptionID; {
		case r.Outcome.Outcome != "selected" || id == chooseCancel:
			return cancelledAnswer, nil
		case id != chooseMore:
			return chosen(q, id), nil
		}
		if start += chooserPage; start >= len(q.Options) {
			start = 0
		}
	}
}

func chooserOptions(q tooling.Question, start int) []permissionOption {
	var list []permissionOption
	for i := start; i < min(start+chooserPage, len(q.Options)); i++ {
		name := q.Options[i].Label
		if d := q.Options[i].Description; d != "" {
			name = fmt.Sprintf("%s — %s", name, d)
		}
		list = append(list, permissionOption{OptionID: strconv.Itoa(i), Name: name, Kind: "allow_once"})
	}
	if len(q.Options) > chooserPage {
		list = append(list, permissionOption{OptionID: chooseMore, Name: "More…", Kind: "allow_once"})
	}
	return append(list, permissionOption{OptionID: chooseCancel, Name: "Cancel", Kind: "reject_once"})
}
