package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"nimlet/agent/model"
	"nimlet/session"
)

// How long what must still happen after an interrupt may take (spec: the turn).
const (
	turnEndGrace = 500 * time.Millisecond
	flushGrace   = 500 * time.Millisecond
)

// Turn appends content as a message of the user and works on it until an answer calls no tool,
// ctx ends, or the steps run out. It returns how it ended, as the TurnEnded event does; the error
// is set when the reason is Failed, and names what to do. Whatever the end, every call of the
// turn has its result in the session and its ToolFinished.
func (a *Agent) Turn(ctx context.Context, content []session.Part) (Reason, error) {
	a.emit(TurnStarted{})
	reason, err := a.turn(ctx, content)
	a.cfg.Hooks.TurnEnd(bounded(ctx, turnEndGrace), reason == Cancelled)
	if flushErr := a.flush(ctx); flushErr != nil && err == nil {
		reason, err = Failed, fmt.Errorf("keeping the session on disk: %w", flushErr)
	}
	a.emit(TurnEnded{Reason: reason, Err: err})
	return reason, err
}

func (a *Agent) turn(ctx context.Context, content []session.Part) (Reason, error) {
	if err := a.cfg.Log.Append(session.User{Content: content}); err != nil {
		return Failed, fmt.Errorf("storing the message: %w", err)
	}
	a.cfg.Hooks.TurnStart(ctx)
	reason, err := a.steps(ctx)
	if err == nil {
		return reason, nil
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		// What was queued for this turn belongs to what the person has just stopped.
		a.steering.clear()
		a.followUp.clear()
		return Cancelled, nil
	}
	return Failed, err
}

// steps asks the model and runs its calls, over and over.
func (a *Agent) steps(ctx context.Context) (Reason, error) {
	for range a.cfg.MaxSteps {
		answer, err := a.ask(ctx)
		if err != nil {
			return Failed, err
		}
		if err := a.runCalls(ctx, answer.calls); err != nil {
			return Failed, err
		}
		more, err := a.nextMessages(len(answer.calls) > 0)
		if err != nil {
			return Failed, err
		}
		if len(answer.calls) == 0 && !more {
			return endOf(answer.stop), nil
		}
	}
	a.emit(Notice{Level: Warning, Title: fmt.Sprintf("Stopped after %d model requests in one turn", a.cfg.MaxSteps),
		Text: "Send a message to go on, or raise agent.max_steps in the configuration."})
	return MaxSteps, nil
}

// nextMessages appends the queued messages whose time has come: steering after any step,
// follow-ups only where the turn would end. It reports whether there were any.
func (a *Agent) nextMessages(midTurn bool) (bool, error) {
	messages := a.steering.take()
	if len(messages) == 0 && !midTurn {
		messages = a.followUp.take()
	}
	for _, content := range messages {
		id := messageID("u", a.cfg.Log.Len())
		if err := a.cfg.Log.Append(session.User{Content: content}); err != nil {
			return false, fmt.Errorf("storing a queued message: %w", err)
		}
		a.emit(UserMessage{MessageID: id, Content: content})
	}
	return len(messages) > 0, nil
}

// flush waits for the disk. A cancel shortens the wait, and is no fault of the disk.
func (a *Agent) flush(ctx context.Context) error {
	err := a.cfg.Log.Flush(ctx)
	if ctx.Err() == nil {
		return err
	}
	if err = a.cfg.Log.Flush(bounded(ctx, flushGrace)); err != nil {
		a.cfg.Logger.Warn("the session was not on disk when its turn was cancelled", zap.Error(err))
	}
	return nil
}

func endOf(r model.Reason) Reason {
	switch r {
	case model.MaxTokens:
		return MaxTokens
	case model.Refusal:
		return Refused
	default:
		return Completed
	}
}

// messageID names a message by the place of its event in the session, so that a replay gives the
// ids that were streamed.
func messageID(kind string, index int) string { return fmt.Sprintf("%s%d", kind, index) }
