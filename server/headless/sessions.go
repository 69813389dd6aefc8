package headless

import (
	"errors"
	"fmt"
	"math"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap/zapcore"

	"nimlet/server"
	"nimlet/session"
)

func sessionCommand(flags *Flags) *cobra.Command {
	c := &cobra.Command{
		Use: "session", Short: "List, show, delete and restore stored sessions", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }, // so that Args are checked
	}
	c.AddCommand(listCommand(flags), showCommand(flags), deleteCommand(flags), restoreCommand(flags))
	for _, sub := range c.Commands() {
		flags.registerFiles(sub.Flags())
	}
	return c
}

// stored has f work on the folder of sessions. What is wrong with the settings is said first, since
// they say where that is.
func stored(flags *Flags, f func(c *cobra.Command, dir string, args []string) error) func(*cobra.Command, []string) error {
	return Action(func(c *cobra.Command, args []string) error {
		options, end, err := flags.Options(c, zapcore.ErrorLevel)
		if err != nil {
			return err
		}
		defer end()
		s := server.New(options)
		for _, p := range s.Problems() {
			fmt.Fprintln(c.ErrOrStderr(), oneLine(p.String()))
		}
		return f(c, s.SessionsDir(), args)
	})
}

func listCommand(flags *Flags) *cobra.Command {
	var all, deleted, asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List the sessions of this folder, newest first", Args: cobra.NoArgs,
		RunE: stored(flags, func(c *cobra.Command, dir string, _ []string) error {
			workspace, err := os.Getwd()
			if err != nil {
				return fmt.Errorf("finding the working folder: %w", err)
			}
			if all || deleted {
				workspace = ""
			}
			list, err := collect(dir, workspace, deleted)
			switch {
			case err != nil:
				return err
			case asJSON:
				return printLines(c, list)
			case len(list) == 0 && workspace != "":
				fmt.Fprintf(c.ErrOrStderr(), "no session was begun in %s; --all lists those of all folders\n", workspace)
			case len(list) == 0 && deleted:
				fmt.Fprintln(c.ErrOrStderr(), "no session is in the trash")
			case len(list) == 0:
				fmt.Fprintln(c.ErrOrStderr(), "there are no sessions")
			default:
				return printTable(c, list, workspace == "")
			}
			return nil
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "list the sessions of all folders")
	c.Flags().BoolVar(&deleted, "deleted", false, "list the deleted sessions, which can be restored")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return c
}

// collect returns all sessions of a workspace, "" for all, or those that were deleted.
func collect(dir, workspace string, deleted bool) ([]session.Info, error) {
	if deleted {
		return session.Trashed(dir)
	}
	var list []session.Info
	query := session.Query{Workspace: workspace}
	for {
		page, err := session.List(dir, query)
		if err != nil {
			return nil, err
		}
		list = append(list, page.Sessions...)
		if page.Next == "" {
			return list, nil
		}
		query.Cursor = page.Next
	}
}

func printLines(c *cobra.Command, list []session.Info) error {
	for _, info := range list {
		line, err := encodeLine(info)
		if err != nil {
			return fmt.Errorf("encoding session %s: %w", info.ID, err)
		}
		if _, err := fmt.Fprint(c.OutOrStdout(), line); err != nil {
			return err
		}
	}
	return nil
}

func printTable(c *cobra.Command, list []session.Info, folders bool) error {
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	for _, info := range list {
		row := info.ID + "\t" + info.Updated.Local().Format(time.DateTime) + "\t"
		if folders {
			row += oneLine(info.Workspace) + "\t"
		}
		fmt.Fprintln(w, row+oneLine(info.Title))
	}
	return w.Flush()
}

func showCommand(flags *Flags) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "show ID", Short: "Show a session's conversation", Args: between(1, 1, "one session's ID"),
		RunE: stored(flags, func(c *cobra.Command, dir string, args []string) error {
			store, err := session.Load(dir, args[0])
			if err != nil {
				return unknownSession(err)
			}
			defer store.Close()
			if asJSON {
				err = printEvents(c.OutOrStdout(), store)
			} else {
				err = printTranscript(c.OutOrStdout(), store)
			}
			for _, warning := range store.Warnings() {
				fmt.Fprintln(c.ErrOrStderr(), "warning: "+oneLine(warning))
			}
			return err
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the events as they are stored, one JSON object a line")
	return c
}

func deleteCommand(flags *Flags) *cobra.Command {
	return &cobra.Command{
		Use: "delete ID...", Short: "Move sessions to the trash", Args: between(1, math.MaxInt, "the IDs of sessions"),
		RunE: stored(flags, func(c *cobra.Command, dir string, args []string) error {
			return each(args, func(id string) error {
				if err := session.Trash(dir, id); err != nil {
					return unknownSession(err)
				}
				_, err := fmt.Fprintf(c.OutOrStdout(), "deleted session %s; nimlet session restore %s brings it back\n", id, id)
				return err
			})
		}),
	}
}

func restoreCommand(flags *Flags) *cobra.Command {
	return &cobra.Command{
		Use: "restore ID...", Short: "Bring deleted sessions back", Args: between(1, math.MaxInt, "the IDs of sessions"),
		RunE: stored(flags, func(c *cobra.Command, dir string, args []string) error {
			return each(args, func(id string) error {
				err := session.Restore(dir, id)
				if errors.Is(err, session.ErrNotFound) {
					return fmt.Errorf("%w; nimlet session list --deleted shows those that can be restored", err)
				}
				if err == nil {
					_, err = fmt.Fprintf(c.OutOrStdout(), "restored session %s\n", id)
				}
				return err
			})
		}),
	}
}

// each does f for every id: one that fails keeps no other from being done.
func each(ids []string, f func(id string) error) error {
	errs := make([]error, len(ids))
	for i, id := range ids {
		errs[i] = f(id)
	}
	return errors.Join(errs...)
}

// unknownSession adds to an error of a session that does not exist how to find those that do.
func unknownSession(err error) error {
	if !errors.Is(err, session.ErrNotFound) {
		return err
	}
	return fmt.Errorf("%w; nimlet session list --all shows all there are", err)
}
