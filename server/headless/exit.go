package headless

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// The exit statuses (spec: the program).
const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// A failure is the end of a command that was called rightly. Err is nil when all has been said.
type failure struct {
	status int
	err    error
}

func (f *failure) Error() string {
	if f.err == nil {
		return fmt.Sprintf("exit status %d", f.status)
	}
	return f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

// A usageError is a wrong call that was noticed by a command itself.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usageErrorf(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// between has a command take from least to most arguments, which what names for a person.
func between(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if n := len(args); n < least || n > most {
			return usageErrorf("%s takes %s, and was given %s", c.CommandPath(), what, counted(n))
		}
		return nil
	}
}

func counted(arguments int) string {
	switch arguments {
	case 0:
		return "nothing"
	case 1:
		return "one argument"
	}
	return fmt.Sprintf("%d arguments", arguments)
}

// Exclusive has a command refuse calls that give more than one of the flags. Cobra would refuse them
// too, in words that name every flag but not what to do.
func Exclusive(c *cobra.Command, flags ...string) {
	c.MarkFlagsMutuallyExclusive(flags...) // completion then offers one of them alone
	before := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		var given []string
		for _, name := range flags {
			if c.Flags().Changed(name) {
				given = append(given, "--"+name)
			}
		}
		if len(given) > 1 {
			return usageErrorf("%s exclude each other: give one of them", strings.Join(given, " and "))
		}
		if before != nil {
			return before(c, args)
		}
		return nil
	}
}

// Action makes a command's function of f. Whatever f returns has status 1 unless it says otherwise;
// an error that cobra finds before it calls f is one of usage.
func Action(f func(c *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		err := f(c, args)
		var failed *failure
		var usage *usageError
		if err == nil || errors.As(err, &failed) || errors.As(err, &usage) {
			return err
		}
		return &failure{exitFailed, err}
	}
}

// Exit says on stderr, in one line, what is wrong and returns the process's exit status. c is the
// command that was called.
func Exit(stderr io.Writer, c *cobra.Command, err error) int {
	var failed *failure
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &failed):
		fmt.Fprintf(stderr, "nimlet: %s (see %s --help)\n", oneLine(err.Error()), c.CommandPath())
		return exitUsage
	case failed.err != nil:
		fmt.Fprintf(stderr, "nimlet: %s\n", oneLine(failed.Error()))
	}
	return failed.status
}

// oneLine joins the lines of a text, such as cobra's suggestions, and drops what could move the cursor.
func oneLine(s string) string { return strings.Join(strings.Fields(plain(s)), " ") }
