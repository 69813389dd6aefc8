package agent

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"

	"go.uber.org/zap"

	"nimlet/session"
	"nimlet/tooling"
)

// maxBeside is how many calls run side by side.
const maxBeside = 8

// runCalls runs the calls of one step: neighbours that may run side by side do, all others one by
// one, in the order given. Every call gets its result stored and its ToolFinished, also after ctx
// has ended. The error is ctx's, or one of the session file.
func (a *Agent) runCalls(ctx context.Context, calls []session.ToolUse) error {
	defer a.cfg.Log.Sync()
	for len(calls) > 0 {
		n := a.beside(calls)
		if err := a.runBeside(ctx, calls[:n]); err != nil {
			return a.abandon(calls[n:], err)
		}
		calls = calls[n:]
	}
	return ctx.Err()
}

// beside returns how many of the first calls run side by side.
func (a *Agent) beside(calls []session.ToolUse) int {
	n := 0
	for n < len(calls) && a.parallel(calls[n].Name) {
		n++
	}
	return max(n, 1)
}

func (a *Agent) parallel(name string) bool {
	tool, ok := a.cfg.Tools.Lookup(name)
	return ok && tool.Spec().Parallel
}

func (a *Agent) runBeside(ctx context.Context, calls []session.ToolUse) error {
	if len(calls) == 1 {
		return a.runCall(ctx, calls[0])
	}
	var wg sync.WaitGroup
	free := make(chan struct{}, maxBeside)
	errs := make([]error, len(calls))
	for i, use := range calls {
		free <- struct{}{}
		wg.Go(func() {
			errs[i] = a.runCall(ctx, use)
			<-free
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// abandon closes calls that cannot be run any more on the editor's side: the session file is
// broken, so on resume they will have an unknown outcome.
func (a *Agent) abandon(calls []session.ToolUse, err error) error {
	for _, use := range calls {
		a.emit(ToolFinished{Call: use.Call, Result: failure("not run: %v", err)})
	}
	return err
}

// runCall brings one call to its end and stores what came of it.
func (a *Agent) runCall(ctx context.Context, use session.ToolUse) error {
	call, result := a.execute(ctx, use)
	events := make([]session.Event, 0, 2)
	if display, ok := displayOf(use.Call, call, result); ok {
		events = append(events, session.Mark{Display: &display}.Event())
	}
	events = append(events, session.ToolResult{
		ID: call.ID, Output: result.Output, IsError: result.IsError, Images: result.Images,
	})
	err := a.cfg.Log.Append(events...)
	if err != nil {
		err = fmt.Errorf("storing the result of %s: %w", call.Name, err)
	}
	a.emit(ToolFinished{Call: call, Result: result})
	return err
}

// displayOf returns what of a call's display the call itself does not tell.
func displayOf(asked, final session.Call, r session.Result) (session.Display, bool) {
	d := session.Display{Call: final.ID, Diffs: r.Diffs, Locations: r.Locations, ExitCode: r.ExitCode}
	if string(asked.Input) != string(final.Input) {
		d.Input = final.Input
	}
	return d, len(d.Diffs) > 0 || len(d.Locations) > 0 || d.Input != nil || d.ExitCode != nil
}

// execute takes a call through everything that may stop it (spec: the turn, 4) and runs it. It
// returns the call with its final arguments.
func (a *Agent) execute(ctx context.Context, use session.ToolUse) (session.Call, session.Result) {
	call := use.Call
	if ctx.Err() != nil {
		return call, cancelled()
	}
	tool, stop := a.admit(use)
	if stop != nil {
		return call, *stop
	}
	hooks := a.hooksFor(call.Name)
	final, deny := hooks.BeforeTool(ctx, call)
	if ctx.Err() != nil {
		return call, cancelled()
	}
	if deny != "" {
		return call, failure("approval_denied: %s", deny)
	}
	if string(final.Input) != string(call.Input) {
		call = final
		a.emit(ToolChanged{Call: call, Card: a.card(call)})
	}
	if stop := a.permit(ctx, tool, call); stop != nil {
		return call, *stop
	}
	a.emit(ToolRunning{CallID: call.ID})
	result := a.run(ctx, tool, call)
	if ctx.Err() != nil {
		return call, result
	}
	result = hooks.AfterTool(ctx, call, result)
	if a.cfg.Beside != nil {
		result.Output += a.cfg.Beside(call, result)
	}
	return call, result
}

// admit finds the tool of a call, or says why there is nothing to run.
func (a *Agent) admit(use session.ToolUse) (tooling.Tool, *session.Result) {
	tool, ok := a.cfg.Tools.Lookup(use.Name)
	if !ok {
		return nil, stopped("there is no tool named %q; the tools are: %s", use.Name, a.toolNames())
	}
	if a.Mode() == Plan && !tool.Spec().PlanSafe() {
		return nil, stopped("%s is not available in plan mode, which only looks: say what you would do, "+
			"and the user switches to act mode (/act) to have it done", use.Name)
	}
	if use.ParseError != "" {
		return nil, stopped("the arguments of %s are not a JSON object: %s", use.Name, use.ParseError)
	}
	return tool, nil
}

// permit checks the final arguments and asks for permission.
func (a *Agent) permit(ctx context.Context, tool tooling.Tool, call session.Call) *session.Result {
	if err := a.cfg.Tools.Check(call); err != nil {
		return stopped("%v", err)
	}
	denied, err := a.cfg.Permissions.Check(ctx, tool, call, a.cfg.AskPermission)
	switch {
	case ctx.Err() != nil:
		r := cancelled()
		return &r
	case err != nil:
		return stopped("asking for permission: %v", err)
	case denied != "":
		return stopped("%s", denied)
	}
	return nil
}

// run executes an admitted call. A panic of a tool is that call's failure and nobody else's.
func (a *Agent) run(ctx context.Context, tool tooling.Tool, call session.Call) (r session.Result) {
	p := newProgress(a, call.ID)
	defer p.close()
	defer func() {
		if v := recover(); v != nil {
			a.cfg.Logger.Error("a tool panicked", zap.String("tool", call.Name), zap.Any("panic", v), zap.ByteString("stack", debug.Stack()))
			r = failure("%s failed inside nimlet: %v", call.Name, v)
		}
	}()
	r, err := tool.Run(ctx, tooling.Env{Progress: p.add, Ask: a.askAbout(call)}, call)
	if err != nil && ctx.Err() != nil {
		return cancelledAfter(r)
	}
	if err != nil {
		return failure("running %s: %v", call.Name, err)
	}
	return r
}

// askAbout gives a tool the person to ask, with the call as the question's place.
func (a *Agent) askAbout(call session.Call) func(context.Context, tooling.Question) (tooling.Answer, error) {
	if a.cfg.Ask == nil {
		return nil
	}
	return func(ctx context.Context, q tooling.Question) (tooling.Answer, error) {
		q.CallID = call.ID
		return a.cfg.Ask(ctx, q)
	}
}

// hooksFor returns who is asked about a call: nobody about ask_user (seed 000, "When hooks do not
// run").
func (a *Agent) hooksFor(tool string) Hooks {
	if tool == "ask_user" {
		return noHooks{}
	}
	return a.cfg.Hooks
}

// card heads a call for the editor.
func (a *Agent) card(call session.Call) Card { return CardOf(a.cfg.Tools, call) }

// CardOf heads a call of one of the tools; a call of an unknown tool is headed by its name.
func CardOf(tools *tooling.Registry, call session.Call) Card {
	tool, ok := tools.Lookup(call.Name)
	if !ok {
		return Card{Title: call.Name, Kind: tooling.KindOther}
	}
	title, locations := tooling.Describe(tool, call)
	return Card{Title: title, Kind: tool.Spec().Kind, Locations: locations}
}

func (a *Agent) toolNames() string {
	var names []string
	for _, s := range a.cfg.Tools.Specs(a.Mode() == Plan) {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}

func failure(format string, args ...any) session.Result {
	return session.Result{Output: fmt.Sprintf(format, args...), IsError: true}
}

func stopped(format string, args ...any) *session.Result {
	r := failure(format, args...)
	return &r
}

const cancelledByUser = "cancelled by the user"

func cancelled() session.Result { return failure(cancelledByUser + " before it ran") }

// cancelledAfter keeps what a call had put out before it was cancelled.
func cancelledAfter(r session.Result) session.Result {
	r.IsError = true
	if r.Output == "" {
		r.Output = cancelledByUser + " while it ran; what it had done until then stands"
	} else {
		r.Output += "\n" + cancelledByUser
	}
	return r
}
