// Package headless is nimlet in a shell: it runs one prompt with nobody to ask, and does what one
// does with stored sessions and trust. It is a dialect of server like the editors' protocols, one that
// speaks in lines and exit statuses.
//
// The rules of its streams are:
//
//   - Standard output has the answer and nothing else, so that it can be piped: text, or with --json
//     one object a line.
//   - Standard error has what a person wants to know meanwhile, a line each: calls of tools, notices,
//     and what went wrong.
//   - The exit status is 0 when it is done, 1 when it failed, 2 when it was called wrongly and 130 when
//     it was interrupted.
package headless

import "github.com/spf13/cobra"

// Commands returns the commands beside serving an editor. flags are those of the whole program.
func Commands(flags *Flags) []*cobra.Command {
	return []*cobra.Command{runCommand(flags), sessionCommand(flags), doctorCommand(flags), trustCommand(), versionCommand(), completionCommand()}
}
