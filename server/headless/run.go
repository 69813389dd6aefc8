package headless

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap/zapcore"

	"nimlet/agent"
	"nimlet/server"
	"nimlet/session"
)

// A run is one prompt and its answer.
type run struct {
	flags   *Flags
	json    bool
	resume  bool
	session string
}

func runCommand(flags *Flags) *cobra.Command {
	r := &run{flags: flags}
	c := &cobra.Command{
		Use:   "run [flags] [PROMPT]",
		Short: "Answer one prompt: the answer goes to standard output",
		Long: `Answer one prompt. The answer goes to standard output; calls of tools and notices go to standard error.
What is piped into standard input is put before PROMPT. A slash command may stand for PROMPT.

Nobody can be asked here: what needs a permission runs only if --allow, --yolo or a trusted folder's
own permissions cover it.

Exit status: 0 done, 1 failed, 2 called wrongly, 130 interrupted.`,
		Example: `  nimlet run "read README.md"
  git diff | nimlet run "review this"
  nimlet run --resume --allow "bash:go test ./..." "bash go test ./..."`,
		RunE: Action(r.do),
	}
	flags.Register(c)
	c.Flags().BoolVar(&r.json, "json", false, "print what happens as one JSON object a line")
	c.Flags().BoolVar(&r.resume, "resume", false, "go on with this folder's newest session")
	c.Flags().StringVar(&r.session, "session", "", "go on with the session of this `id`")
	Exclusive(c, "resume", "session", "no-session")
	return c
}

func (r *run) do(c *cobra.Command, args []string) error {
	ctx, stop := interruptible(c.Context())
	defer stop()
	prompt, err := readPrompt(ctx, args)
	if ctx.Err() != nil {
		return &failure{exitInterrupted, nil}
	}
	if err != nil {
		return err
	}
	options, end, err := r.flags.Options(c, zapcore.ErrorLevel)
	if err != nil {
		return err
	}
	defer end()
	out := newOutput(os.Stdout)
	var shown view = newText(out, os.Stderr)
	if r.json {
		shown = newJSON(out)
	}
	ended := r.supervise(ctx, out, server.New(options), prompt, shown)
	shown.end(ended)
	return ended.status(ctx, out)
}

// giveUp is how long an interrupted run may take to end in good order: the agent is bounded to two
// seconds, but a reader that does not read can hold up what is still written.
const giveUp = 4 * time.Second

// supervise has the turn run until it ends, and cancels it when it is interrupted or nobody reads the
// answer any more.
func (r *run) supervise(ctx context.Context, out *output, s *server.Server, prompt string, shown view) outcome {
	turn, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan outcome, 1)
	go func() { done <- r.turn(turn, s, prompt, shown) }()
	select {
	case ended := <-done:
		return ended
	case <-ctx.Done():
	case <-out.broken:
		cancel()
	}
	select {
	case ended := <-done:
		return ended
	case <-time.After(giveUp):
		return outcome{reason: agent.Cancelled, late: true}
	}
}

// turn opens the session, answers the prompt and closes the session.
func (r *run) turn(ctx context.Context, s *server.Server, prompt string, shown view) (ended outcome) {
	live, err := r.open(ctx, s, func(string) server.Editor { return server.Editor{Emit: shown.emit} })
	if err != nil {
		return outcome{reason: agent.Failed, err: err}
	}
	ended.session = live.ID()
	ended.stored = live.Store().Path() != ""
	ticket, err := live.Accept(ctx)
	if err == nil {
		ended.reason, err = live.Prompt(ticket, server.Message{session.Text{Text: prompt}})
	}
	ended.err = errors.Join(err, s.Shutdown(context.WithoutCancel(ctx)))
	return ended
}

// open begins a session in the working folder, or goes on there with an older one.
func (r *run) open(ctx context.Context, s *server.Server, attach func(string) server.Editor) (*server.Session, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("finding the working folder: %w", err)
	}
	place := server.Place{Dir: dir}
	id := r.session
	if r.resume {
		newest, err := s.List(session.Query{Workspace: dir, Limit: 1})
		switch {
		case err != nil:
			return nil, err
		case len(newest.Sessions) == 0:
			return nil, fmt.Errorf("no session to resume was begun in %s; leave --resume out to begin one", dir)
		}
		id = newest.Sessions[0].ID
	}
	if id == "" {
		return s.Create(place, attach)
	}
	live, err := s.Open(ctx, id, place, attach)
	if errors.Is(err, server.ErrNotFound) {
		return nil, unknownSession(err)
	}
	if err != nil {
		return nil, err
	}
	if begun := live.Store().Header().Workspace; filepath.Clean(begun) != dir {
		live.Note(agent.Info, fmt.Sprintf("Session %s was begun in %s; from here on it works in %s.", id, begun, dir))
	}
	return live, nil
}

// An outcome is how a run ended.
type outcome struct {
	session string // its id; "" when none was opened
	stored  bool   // in a file
	reason  agent.Reason
	err     error
	late    bool // it did not end in time and was left behind
}

// unfinished says why a turn that did not fail is not done either.
var unfinished = map[agent.Reason]string{
	agent.MaxSteps:  "the turn reached its limit of steps (agent.max_steps) before it was done",
	agent.MaxTokens: "the answer reached the limit of tokens (agent.max_tokens) before it was done",
	agent.Refused:   "the model refused to answer",
}

// status is the error that stands for how the run ended.
func (o outcome) status(ctx context.Context, out *output) error {
	switch err := out.failed(); {
	case err != nil && brokenPipe(err):
		return &failure{exitFailed, nil} // the reader has what it wanted
	case err != nil:
		return &failure{exitFailed, fmt.Errorf("writing the answer: %w", err)}
	case o.err != nil:
		return &failure{exitFailed, o.err}
	case o.reason == agent.Completed:
		return nil
	case ctx.Err() != nil:
		return &failure{exitInterrupted, nil}
	}
	text := unfinished[o.reason]
	if text == "" {
		text = "the turn ended as " + string(o.reason)
	}
	return &failure{exitFailed, errors.New(text)}
}
