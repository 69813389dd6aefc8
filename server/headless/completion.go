package headless

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"
)

// completionCommand stands in the place of cobra's own, which takes a shell it does not know for a
// question for help.
func completionCommand() *cobra.Command {
	shells := map[string]func(c *cobra.Command) error{
		"bash":       func(c *cobra.Command) error { return c.Root().GenBashCompletionV2(c.OutOrStdout(), true) },
		"zsh":        func(c *cobra.Command) error { return c.Root().GenZshCompletion(c.OutOrStdout()) },
		"fish":       func(c *cobra.Command) error { return c.Root().GenFishCompletion(c.OutOrStdout(), true) },
		"powershell": func(c *cobra.Command) error { return c.Root().GenPowerShellCompletionWithDesc(c.OutOrStdout()) },
	}
	return &cobra.Command{
		Use:       "completion SHELL",
		Short:     "Print what has a shell complete nimlet's commands and flags",
		Long:      "Print a script that has a shell complete nimlet's commands and flags: bash, zsh, fish or powershell.",
		Example:   `  source <(nimlet completion bash)`,
		ValidArgs: slices.Sorted(maps.Keys(shells)),
		Args:      cobra.MatchAll(between(1, 1, "one shell"), cobra.OnlyValidArgs),
		RunE:      Action(func(c *cobra.Command, args []string) error { return shells[args[0]](c) }),
	}
}
