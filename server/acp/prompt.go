package acp

import (
	"context"
	"encoding/json"

	"nimlet/agent"
	"nimlet/server"
	"nimlet/transport"
)

// stopReasons names an ending in the schema's words.
var stopReasons = map[agent.Reason]string{
	agent.Completed: "end_turn",
	agent.Cancelled: "cancelled",
	agent.MaxSteps:  "max_turn_requests",
	agent.MaxTokens: "max_tokens",
	agent.Refused:   "refusal",
}

// prompt takes its place in the session's line on the read loop, so that a cancel that is read
// later finds it, and works on it beside.
func (c *connection) prompt(ctx context.Context, raw json.RawMessage) work {
	var p promptRequest
	if err := decode(raw, &p); err != nil {
		return fail(err)
	}
	live, err := c.live(p.SessionID)
	if err != nil {
		return fail(err)
	}
	ticket, err := live.Accept(ctx)
	if err != nil {
		return fail(transport.Errorf(transport.CodeInternal, "%v", err))
	}
	e := c.editor(live.ID())
	if e == nil {
		live.Withdraw(ticket)
		return fail(transport.Errorf(transport.CodeInternal, "%v", server.ErrClosed))
	}
	return func() (any, error) {
		content, err := c.parts(live, p.Prompt)
		if err != nil {
			live.Withdraw(ticket)
			return nil, err
		}
		e.speakAs(*p.SessionID)
		reason, err := live.Prompt(ticket, content)
		if err != nil {
			return nil, transport.Errorf(transport.CodeInternal, "%v", err)
		}
		return promptResponse{StopReason: stopReasons[reason]}, nil
	}
}

// cancel stops what the session does now and what waits. It must find every prompt that was read
// before it and none that is read after it, so it runs on the read loop.
func (c *connection) cancel(_ context.Context, raw json.RawMessage) work {
	var p sessionRequest
	if decode(raw, &p) != nil || p.SessionID == nil {
		return nil
	}
	if live, ok := c.server.Live(*p.SessionID); ok {
		live.Cancel()
	}
	return nil
}

// steer (ours) has a message enter the running turn.
func (c *connection) steer(_ context.Context, p promptRequest) (any, error) {
	live, err := c.live(p.SessionID)
	if err != nil {
		return nil, err
	}
	content, err := c.parts(live, p.Prompt)
	if err != nil {
		return nil, err
	}
	return steerResponse{Queued: live.Steer(content)}, nil
}
