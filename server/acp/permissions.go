package acp

import (
	"context"
	"errors"
	"fmt"

	"nimlet/agent"
	"nimlet/tooling"
)

// The options of a permission request, by id. Names state the scope, so that an "always" is never
// given for more than was read.
const (
	allowOnce    = "allow_once"
	allowSession = "allow_session"
	allowProject = "allow_project"
	rejectOnce   = "reject_once"
)

var verdicts = map[string]tooling.Verdict{
	allowOnce:    tooling.AllowOnce,
	allowSession: tooling.AllowSession,
	allowProject: tooling.AllowProject,
	rejectOnce:   tooling.Reject,
}

// askPermission asks the client whether a call may run (session/request_permission). Whatever is
// not a clear yes rejects; "cancelled" rejects this call and no more, because some clients send it
// when a picker was dismissed.
func (e *editor) askPermission(ctx context.Context, r tooling.PermissionRequest) (tooling.Verdict, error) {
	var answer permissionResponse
	err := e.c.call(ctx, methodPermission, permissionRequest{
		SessionID: e.sessionID(), ToolCall: e.permissionCard(r), Options: permissionOptions(r.Need),
	}, &answer)
	switch {
	case ctx.Err() != nil:
		return tooling.Reject, ctx.Err()
	case errors.Is(err, errCannot):
		e.c.toldCannotAsk.Do(func() { e.notice(cannotAsk) })
		return tooling.Reject, errCannotAsk
	case err != nil:
		return tooling.Reject, fmt.Errorf("the editor answered with an error: %w", err)
	}
	if answer.Outcome.Outcome != "selected" {
		return tooling.Reject, nil
	}
	verdict := verdicts[answer.Outcome.OptionID]
	if !r.Need.Remember && verdict != tooling.Reject && verdict != tooling.AllowOnce {
		return tooling.Reject, fmt.Errorf("the editor chose %q, which was not offered", answer.Outcome.OptionID)
	}
	return verdict, nil
}

var errCannotAsk = errors.New("the client cannot ask the user")

var cannotAsk = agent.Notice{
	Level: agent.Warning, Title: "This editor cannot ask for permission, so what needs one is refused.",
	Text: "Start nimlet with --allow KEY for what it may do without asking, or use /yolo to allow everything until it ends.",
}

func permissionOptions(n tooling.Need) []permissionOption {
	options := []permissionOption{{OptionID: allowOnce, Name: "Allow once", Kind: "allow_once"}}
	if n.Remember {
		subject, _ := headline(n.Subject, 60)
		options = append(options,
			permissionOption{OptionID: allowSession, Name: "Allow `" + subject + "` for this session", Kind: "allow_always"},
			permissionOption{OptionID: allowProject, Name: "Always allow `" + subject + "` in this project", Kind: "allow_always"})
	}
	return append(options, permissionOption{OptionID: rejectOnce, Name: "Reject", Kind: "reject_once"})
}

// permissionCard shows what is asked about: the change, or the command, and why it is asked.
func (e *editor) permissionCard(r tooling.PermissionRequest) toolUpdate {
	title, _ := headline(r.Need.Subject, maxTitle)
	u := toolUpdate{
		ToolCallID: e.unique(r.Call.ID), Title: title, Name: r.Call.Name, Kind: string(r.Spec.Kind), Status: pending,
		RawInput: fitInput(r.Call.Input, e.limit/4),
	}
	room := e.limit - toolOverhead - len(u.RawInput)
	for _, d := range r.Diffs {
		list, used := fitDiff(d, room)
		u.Content = append(u.Content, list...)
		room -= used
	}
	if len(r.Diffs) == 0 && r.Spec.Kind == tooling.KindExecute {
		u.Content = append(u.Content, content(textBlock(fenced(excerpt(r.Need.Subject, room/2)))))
	}
	if r.Need.Reason != "" {
		u.Content = append(u.Content, content(textBlock(r.Need.Reason)))
	}
	return u
}
