package builtin

import (
	"context"

	"nimlet/session"
)

// A plan finds the file that a call is about and the text it would have, and changes nothing. edit
// and write differ in it alone.
type plan func(ctx context.Context, call session.Call) (document, string, error)

// preview is what a planned change would look like; nil for one that cannot be made.
func (p plan) preview(ctx context.Context, call session.Call) []session.Diff {
	d, text, err := p(ctx, call)
	if err != nil {
		return nil
	}
	diff, _ := d.changed(text)
	return []session.Diff{diff}
}

// carryOut makes a planned change. say tells the model of it.
func (c Config) carryOut(ctx context.Context, call session.Call, p plan, say func(d document, text string, first session.Location) string) (session.Result, error) {
	d, text, err := p(ctx, call)
	if err != nil || ctx.Err() != nil {
		return answer(ctx, session.Result{}, err)
	}
	// What is written is told, even when ctx has ended meanwhile.
	if err := c.store(ctx, d, text); err != nil {
		return failed(err), nil
	}
	diff, first := d.changed(text)
	return session.Result{
		Output: say(d, text, first), Diffs: []session.Diff{diff}, Locations: []session.Location{first},
	}, nil
}
