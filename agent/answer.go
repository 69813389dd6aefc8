package agent

import (
	"context"
	"fmt"
	"slices"

	"nimlet/agent/model"
	"nimlet/session"
)

// An answer is what one model request gave, put together from its chunks.
type answer struct {
	parts []session.Part
	calls []session.ToolUse
	usage *session.Usage
	stop  model.Reason

	open     []byte // text or thinking that may still grow
	thinking bool   // open is thinking
}

// ask sends the conversation to the model, streams its answer to the editor and appends it. What
// came before an error or a cancel is kept, marked as interrupted; nothing is kept of an answer
// that was empty.
func (a *Agent) ask(ctx context.Context) (answer, error) {
	if err := ctx.Err(); err != nil {
		return answer{}, a.keepInterrupted(ctx, answer{}, err)
	}
	index := a.cfg.Log.Len()
	s := newStream(a, index)
	ans, err := a.collect(ctx, s)
	if closeErr := s.close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return answer{}, a.keepInterrupted(ctx, ans, err)
	}
	if len(ans.parts) == 0 {
		a.emit(TextDelta{MessageID: messageID("m", index), Text: "(no output)"})
		return ans, nil
	}
	if err := a.cfg.Log.Append(a.assistant(ans)); err != nil {
		return answer{}, fmt.Errorf("storing the answer: %w", err)
	}
	a.cfg.Log.Sync()
	a.reportUsage(ans.usage)
	for _, use := range ans.calls {
		a.emit(ToolStarted{Call: use.Call, Card: a.card(use.Call)})
	}
	return ans, nil
}

// collect reads the model's stream to its end.
func (a *Agent) collect(ctx context.Context, s *stream) (ans answer, err error) {
	defer func() { ans.finish() }()
	for chunk, err := range a.cfg.Model.Stream(ctx, a.request()) {
		if err == nil {
			err = s.err()
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return ans, err
		}
		ans.add(chunk, s)
	}
	return ans, ctx.Err()
}

func (a *Agent) request() model.Request {
	return model.Request{
		System:    a.cfg.System,
		Messages:  a.cfg.Log.Messages(),
		Tools:     a.cfg.Tools.Specs(a.Mode() == Plan),
		MaxTokens: a.cfg.MaxTokens,
	}
}

func (ans *answer) add(chunk model.Chunk, s *stream) {
	switch c := chunk.(type) {
	case model.Text:
		ans.grow(string(c), false)
		s.text(string(c))
	case model.Thinking:
		ans.grow(c.Text, true)
		s.thought(c.Text)
		if c.Signature != "" {
			ans.sign(c.Signature)
		}
	case model.ToolCall:
		ans.finish()
		use := session.ToolUse(c)
		if len(use.Input) == 0 {
			use.Input = emptyObject
		}
		ans.calls = append(ans.calls, use)
		ans.parts = append(ans.parts, use)
	case model.Retrying:
		s.retry(c)
	case model.Usage:
		usage := session.Usage(c)
		ans.usage = &usage
	case model.Stop:
		ans.stop = c.Reason
	}
}

func (ans *answer) grow(text string, thinking bool) {
	if thinking != ans.thinking {
		ans.finish()
		ans.thinking = thinking
	}
	ans.open = append(ans.open, text...)
}

// finish closes the part that was growing.
func (ans *answer) finish() {
	if len(ans.open) == 0 {
		return
	}
	text := string(ans.open)
	ans.open = nil
	if ans.thinking {
		ans.parts = append(ans.parts, session.Thinking{Thinking: text})
	} else {
		ans.parts = append(ans.parts, session.Text{Text: text})
	}
}

// sign ends a stretch of thinking with its provider's signature, which may come without any text.
func (ans *answer) sign(signature string) {
	text := string(ans.open)
	ans.open = nil
	ans.parts = append(ans.parts, session.Thinking{Thinking: text, Signature: signature})
}

func (ans *answer) dropCalls() {
	ans.calls = nil
	ans.parts = slices.DeleteFunc(ans.parts, func(p session.Part) bool {
		_, isCall := p.(session.ToolUse)
		return isCall
	})
}

func (a *Agent) assistant(ans answer) session.Assistant {
	provider, name := a.cfg.Identity()
	a.price(ans.usage)
	return session.Assistant{Content: ans.parts, Provider: provider, Model: name, Usage: ans.usage}
}

// keepInterrupted stores what an answer that broke off had said, and that it did. Its calls are left
// out: they were neither shown nor run. It returns why, joined with what went wrong in storing.
func (a *Agent) keepInterrupted(ctx context.Context, ans answer, why error) error {
	ans.dropCalls()
	events := make([]session.Event, 0, 2)
	if len(ans.parts) > 0 {
		events = append(events, a.assistant(ans))
	}
	reason := why.Error()
	if ctx.Err() != nil {
		reason = cancelledByUser
	}
	events = append(events, session.Mark{Interrupted: reason}.Event())
	if err := a.cfg.Log.Append(events...); err != nil {
		return fmt.Errorf("%w (and that could not be stored: %w)", why, err)
	}
	return why
}

// price puts into a request's usage what it cost.
func (a *Agent) price(u *session.Usage) {
	if u == nil || a.cfg.Cost == nil || u.Spent > 0 {
		return
	}
	u.Cost = a.cfg.Cost(*u)
	a.spent += u.Cost
	u.Spent = a.spent
}

// reportUsage tells how full the context is, as the provider counted it.
func (a *Agent) reportUsage(u *session.Usage) {
	if u != nil {
		a.emit(UsageChanged{Used: u.Input + u.Output, Size: a.cfg.Window(), Spent: u.Spent})
	}
}
