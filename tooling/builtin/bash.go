package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"nimlet/session"
	"nimlet/tooling"
)

// The bounds of timeout_seconds.
const (
	defaultTimeout = 120
	maxTimeout     = 3600
)

type bash struct{ Config }

type bashArgs struct {
	Command string  `json:"command"`
	Timeout float64 `json:"timeout_seconds"` // 0: defaultTimeout
}

func (a bashArgs) timeout() time.Duration {
	if a.Timeout == 0 {
		return defaultTimeout * time.Second
	}
	return time.Duration(a.Timeout * float64(time.Second))
}

func newBash(c Config) tooling.Tool { return bash{c} }

// Spec implements tooling.Tool.
func (t bash) Spec() tooling.Spec {
	return tooling.Spec{
		Name: "bash",
		Description: "Run a shell command in the workspace folder. Answers its exit code, how long it took, and what it wrote to standard output and standard error, in the order it came. " +
			"Standard input is empty and there is no terminal. What the command leaves running in the background is ended when it ends. " +
			"Of a long output the end is shown, and the whole is kept in a file that is named.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"command":{"type":"string","minLength":1,"description":"the text to run, as after bash -c"},` +
			`"timeout_seconds":{"type":"number","exclusiveMinimum":0,"maximum":3600,"description":"ends the command after this time; 120 when left out"}},` +
			`"required":["command"],"additionalProperties":false}`),
		Capabilities: []tooling.Capability{tooling.Write, tooling.Shell, tooling.Network},
		Kind:         tooling.KindExecute,
	}
}

// Permission implements tooling.Guarded. PowerShell text is not parsed: it is asked about every
// time.
func (t bash) Permission(call session.Call) tooling.Need {
	args, err := decode[bashArgs](call)
	if err != nil {
		return tooling.Need{Subject: call.Name, Reason: "its arguments cannot be read"}
	}
	command := strings.Trim(args.Command, " \t\n")
	reason, _ := tooling.JudgeShell(command)
	if sh, err := findShell(); err == nil && !sh.posix {
		reason = "text for PowerShell is not judged"
	}
	if reason != "" {
		return tooling.Need{Subject: command, Reason: reason}
	}
	return tooling.Need{Key: "bash:" + command, Subject: command, Remember: true}
}

// Describe implements tooling.Describer.
func (t bash) Describe(call session.Call) (string, []session.Location) {
	const most = 200 // characters of a title
	args, err := decode[bashArgs](call)
	if err != nil {
		return "", nil
	}
	line, rest, _ := strings.Cut(strings.TrimSpace(args.Command), "\n")
	if runes := []rune(line); len(runes) > most {
		return string(runes[:most]) + " …", nil
	}
	if rest != "" {
		line += " …"
	}
	return line, nil
}

// Run implements tooling.Tool.
func (t bash) Run(ctx context.Context, env tooling.Env, call session.Call) (session.Result, error) {
	args, err := decode[bashArgs](call)
	if err != nil {
		return failed(err), nil
	}
	sh, err := findShell()
	if err != nil {
		return failed(err), nil
	}
	words, cleanup, err := sh.words(args.Command)
	if err != nil {
		return failed(err), nil
	}
	defer cleanup()
	limited, cancel := context.WithTimeout(ctx, args.timeout())
	defer cancel()
	out := newOutput(t.Config, call.ID, env.Progress)
	exit, err := tooling.Process{
		Path: sh.path, Args: words, Env: t.childEnv(), Dir: t.Workspace.Root(),
		Stdout: out, Stderr: out, Mark: call.ID,
	}.Run(limited)
	out.finish()
	if ctx.Err() != nil {
		return session.Result{Output: t.unsavedNote() + "interrupted\n" + out.text(), IsError: true}, ctx.Err()
	}
	return t.result(exit, err, args, out), nil
}

// result tells the model how the command ended, then what it wrote.
func (t bash) result(exit tooling.Exit, err error, args bashArgs, out *output) session.Result {
	took := exit.Duration.Round(100 * time.Millisecond)
	if exit.Duration < time.Second {
		took = exit.Duration.Round(time.Millisecond)
	}
	var head string
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		head = fmt.Sprintf("timed out: the command was ended after %s (timeout_seconds can be up to %d)\n", args.timeout(), maxTimeout)
	case err != nil && (exit.Code < 0 || exit.Duration == 0): // it did not start, or could not be ended
		head = fmt.Sprintf("%v\n", err)
	case err != nil:
		head = fmt.Sprintf("exit code %d after %s, but %v\n", exit.Code, took, err)
	case exit.Signal != "":
		head = fmt.Sprintf("ended by signal %s after %s\n", exit.Signal, took)
	default:
		head = fmt.Sprintf("exit code %d after %s\n", exit.Code, took)
	}
	if len(exit.Left) > 0 {
		head += "still running when the command ended, and ended with it: " + strings.Join(exit.Left, ", ") + "\n"
	}
	return session.Result{
		Output:   t.unsavedNote() + head + out.text(),
		IsError:  err != nil || exit.Code != 0,
		ExitCode: exitCode(exit, err),
	}
}

// exitCode is the code for the person's terminal; nil for a command that did not start, or that a
// signal ended.
func exitCode(exit tooling.Exit, err error) *int {
	if err != nil && exit.Duration == 0 || exit.Signal != "" || exit.Code < 0 {
		return nil
	}
	return &exit.Code
}

// childEnv is the environment of commands: that of nimlet without what is nimlet's own or would
// have the shell run something first, and with nothing that waits for a person.
func (t bash) childEnv() []string {
	env := t.Env
	if env == nil {
		env = os.Environ()
	}
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		own := strings.HasPrefix(name, "NIMLET_") && name != "NIMLET_TREE" // the tree we are in ourselves
		return own || name == "BASH_ENV" || name == "ENV"
	})
	return append(env, "TERM=dumb", "PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat", "GIT_TERMINAL_PROMPT=0")
}
