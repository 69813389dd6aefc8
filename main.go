// Nimlet is a coding agent that lives in the editor: it serves an editor on standard input and output,
// or answers one prompt in a shell.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap/zapcore"

	"nimlet/server"
	"nimlet/server/acp"
	"nimlet/server/headless"
	"nimlet/transport"
)

func main() {
	called, err := command().ExecuteContextC(context.Background())
	os.Exit(headless.Exit(os.Stderr, called, err))
}

func command() *cobra.Command {
	flags := &headless.Flags{}
	var stdio, onlyACP bool
	c := &cobra.Command{
		Use:   "nimlet",
		Short: "A coding agent that lives in your editor",
		Long: `nimlet is a coding agent that lives in your editor. Called by an editor, it speaks the Agent Client
Protocol on standard input and output. In a shell, "nimlet run" answers one prompt.`,
		Version:      headless.Build(),
		SilenceUsage: true, SilenceErrors: true,
		RunE: headless.Action(func(c *cobra.Command, _ []string) error {
			if !stdio && !onlyACP && headless.Terminal(os.Stdin) {
				return c.Help()
			}
			return serve(c, flags, onlyACP)
		}),
	}
	c.SetVersionTemplate("{{.Version}}\n")
	flags.Register(c)
	c.Flags().BoolVar(&stdio, "stdio", false, "serve an editor, also on a terminal, in the dialect of its first message")
	c.Flags().BoolVar(&onlyACP, "acp", false, "serve an editor that speaks the Agent Client Protocol")
	headless.Exclusive(c, "stdio", "acp")
	c.AddCommand(headless.Commands(flags)...)
	return c
}

var errOnlyACP = errors.New("the editor speaks LSP, which this version does not: set it up for the Agent Client Protocol (ACP)")

// serve answers an editor until it goes away or the process is to end.
func serve(c *cobra.Command, flags *headless.Flags, onlyACP bool) error {
	in, out, err := transport.Stdio()
	if err != nil {
		return err
	}
	lifetime, stop := transport.Lifetime(c.Context())
	defer stop()
	ctx, cancel := context.WithCancelCause(lifetime)
	defer cancel(nil)
	context.AfterFunc(ctx, endSoon)
	options, end, err := flags.Options(c, zapcore.WarnLevel)
	if err != nil {
		return err
	}
	defer end()
	s := server.New(options)
	o := transport.Options{Log: options.Logger, Trace: options.Logger.Core().Enabled(zapcore.DebugLevel)}
	if onlyACP {
		o.Dialect = transport.ACP
	}
	handler := acp.Handler(ctx, s, options.Version, options.Logger)
	err = transport.Serve(ctx, in, out, o, func(conn *transport.Conn) transport.Handler {
		if conn.Dialect() == transport.LSP {
			return func(context.Context, transport.Request) func() (any, error) {
				return func() (any, error) { cancel(errOnlyACP); return nil, errOnlyACP }
			}
		}
		return handler(conn)
	})
	cancel(nil)
	if lifetime.Err() != nil {
		err = nil // it was asked to end
	}
	return errors.Join(err, s.Shutdown(ctx))
}

// endSoon ends the process, in two seconds, whatever still hangs then: an agent must not outlive its editor.
func endSoon() {
	time.AfterFunc(2*time.Second, func() {
		fmt.Fprintln(os.Stderr, "nimlet: ending took too long and was cut short")
		os.Exit(1)
	})
}
