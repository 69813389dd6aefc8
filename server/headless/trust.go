package headless

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"nimlet/agent/config"
)

func trustCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "trust [on|off] [DIR]",
		Short: "Show or decide whether a folder's own settings count",
		Long: `Show or decide whether a folder is trusted. The settings, permissions, system prompt, tools and skills
that a project brings count only in a trusted folder. Trust covers everything below the folder.`,
		Args: between(0, 2, "on or off, and one folder"),
		RunE: Action(trust),
	}
}

func trust(c *cobra.Command, args []string) error {
	decision := ""
	if len(args) > 0 && (args[0] == "on" || args[0] == "off") {
		decision, args = args[0], args[1:]
	}
	if len(args) > 1 {
		return usageErrorf("%q is neither on nor off", args[0])
	}
	dir, err := folder(args)
	if err != nil {
		return err
	}
	home, err := config.FindHome(os.Getenv)
	if err != nil {
		return err
	}
	if decision != "" {
		err := home.SetTrust(dir, decision == "on")
		var damaged *config.DamagedError
		if errors.As(err, &damaged) {
			fmt.Fprintln(c.ErrOrStderr(), "warning: "+oneLine(damaged.Error()))
		} else if err != nil {
			return err
		}
	}
	return showTrust(c, home, dir)
}

// folder returns the folder that the arguments name, the working folder when they name none.
func folder(args []string) (string, error) {
	dir, err := filepath.Abs(strings.Join(args, ""))
	if err != nil {
		return "", fmt.Errorf("finding the folder: %w", err)
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return "", fmt.Errorf("looking at the folder: %w", err)
	case !info.IsDir():
		return "", fmt.Errorf("%s is no folder", dir)
	}
	return dir, nil
}

// showTrust says what holds of dir, and what is left out because of it.
func showTrust(c *cobra.Command, home config.Home, dir string) error {
	decided, err := home.Trust(dir)
	if err != nil {
		return err
	}
	line := oneLine(dir) + ": " + decided.String()
	files := config.ProjectFiles(home, config.UserHome(os.Getenv), dir)
	if decided != config.Trusted && len(files) > 0 {
		line += "; left out: " + strings.Join(files, ", ")
	}
	_, err = fmt.Fprintln(c.OutOrStdout(), line)
	return err
}
