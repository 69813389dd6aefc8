package tooling

import (
	"slices"
	"strings"
)

// Options of git itself that have a value in the next word.
var gitValueOptions = setOf(`-C --git-dir --work-tree --namespace --super-prefix --attr-source --list-cmds`)

// Options of git itself that have none.
var gitPlainOptions = setOf(`-p --paginate -P --no-pager --no-replace-objects --no-lazy-fetch --no-optional-locks --no-advice --bare
	--literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --version -v --help -h --html-path --man-path --info-path`)

// git judges a call of git by its words after "git".
func (j *shellJudge) git(args []shellWord) {
	for i := 0; i < len(args); i++ {
		w := args[i]
		option, _, hasValue := strings.Cut(w.text, "=")
		switch {
		case !w.literal:
			j.unclear("the git command is not literal")
			return
		case strings.HasPrefix(w.text, "-c") || option == "--config-env" || option == "--exec-path":
			// They can make an alias, a hook or a pager of any command.
			j.dangerous("git " + option + " can have git run anything")
			return
		case gitValueOptions[w.text]:
			i++
		case gitPlainOptions[w.text] || hasValue && gitValueOptions[option]:
		case w.option():
			j.unclear("git " + w.text + " is not known here")
			return
		default:
			j.gitCommand(strings.ToLower(w.text), args[i+1:])
			return
		}
	}
}

// gitCommand judges one subcommand. What may lose work is dangerous; what can be made to run
// other commands is judged like a wrapper.
func (j *shellJudge) gitCommand(name string, args []shellWord) {
	a := gitArgs{args}
	danger := func(what string) { j.dangerous("git " + name + what + " is asked about every time") }
	switch name {
	case "reset", "clean", "restore", "rm":
		danger("")
	case "checkout":
		if a.any(isWholePath) || a.option("f", "force") || a.option("", "pathspec-from-file") || a.has("--") {
			danger(" of files")
		}
	case "switch":
		if a.option("f", "force") || a.option("", "discard-changes") {
			danger(" --discard-changes")
		}
	case "stash":
		if a.has("drop") || a.has("clear") {
			danger(" drop and clear")
		}
	case "branch":
		if a.option("D", "") || (a.option("d", "delete") && a.option("f", "force")) {
			danger(" -D")
		}
	case "push":
		if a.option("f", "force") || a.option("d", "delete") || a.option("", "mirror") || a.option("", "prune") || a.any(rewrites) {
			danger(" that rewrites or deletes")
		}
	case "config":
		if a.any(namesAlias) {
			danger(" of an alias")
		} else if !a.option("l", "list") && !a.option("", "get") && !a.first("list") && !a.first("get") {
			j.unclear("git config changes what git does")
		}
	case "clone":
		if a.option("c", "config") {
			danger(" with config")
		} else if a.option("u", "") {
			j.unclear("it names a program for git to run")
		}
	case "submodule", "bisect", "for-each-repo", "rebase", "difftool", "grep", "filter-branch":
		j.gitRuns(name, args)
	}
	if a.any(namesTransport) {
		j.dangerous("git runs the command in an ext:: address")
	}
	if a.option("", "upload-pack") || a.option("", "receive-pack") || (name != "rebase" && a.option("", "exec")) {
		j.unclear("it names a program for git to run")
	}
	if strictGit[name] && a.unclear() {
		j.unclear("an argument of git " + name + " is not literal")
	}
}

// The subcommands that an argument can make dangerous.
var strictGit = setOf(`checkout switch stash branch push config clone fetch pull ls-remote archive`)

// gitRuns judges the subcommands that run commands given as arguments. git takes long options
// shortened, and a short one with its value at the end of a bundle.
func (j *shellJudge) gitRuns(name string, args []shellWord) {
	for i, w := range args {
		option, value, attached := strings.Cut(w.text, "=")
		long := strings.HasPrefix(option, "--") && len(option) > 3
		switch letter := gitRunLetter[name]; {
		case name == "for-each-repo", gitRunWords[name] != "" && w.text == gitRunWords[name]:
			j.wrapped(w.text, args[i:])
			return
		case long && runsByOption(name, option) && attached:
			j.text(value)
		case long && runsByOption(name, option) && i+1 < len(args):
			j.given(args[i+1])
		case letter != "" && !long && w.option() && strings.Contains(w.text, letter):
			_, value, _ := strings.Cut(w.text, letter)
			j.text(value)
			if value == "" && i+1 < len(args) && name != "grep" {
				j.given(args[i+1])
			}
		}
	}
}

// given judges w as the shell text that git runs.
func (j *shellJudge) given(w shellWord) {
	if w.literal {
		j.text(w.text)
	} else {
		j.unclear("what git is to run is not literal")
	}
}

// runsByOption reports whether a long option of a subcommand, maybe shortened, names a command.
func runsByOption(name, option string) bool {
	return slices.ContainsFunc(gitRunOptions[name], func(full string) bool { return strings.HasPrefix(full, option) })
}

// The words, letters and long options after which a subcommand has a command to run.
var (
	gitRunWords   = map[string]string{"submodule": "foreach", "bisect": "run"}
	gitRunLetter  = map[string]string{"rebase": "x", "difftool": "x", "grep": "O"}
	gitRunOptions = map[string][]string{
		"rebase": {"--exec"}, "difftool": {"--extcmd"}, "grep": {"--open-files-in-pager"},
		"filter-branch": {"--tree-filter", "--index-filter", "--msg-filter", "--env-filter", "--parent-filter",
			"--commit-filter", "--tag-name-filter", "--setup"},
	}
)

// gitArgs are the words after a subcommand.
type gitArgs struct{ words []shellWord }

func (a gitArgs) any(is func(string) bool) bool {
	for _, w := range a.words {
		if is(w.text) {
			return true
		}
	}
	return false
}

func (a gitArgs) has(word string) bool {
	return a.any(func(s string) bool { return s == word })
}

func (a gitArgs) first(word string) bool {
	return len(a.words) > 0 && a.words[0].text == word
}

// option reports whether a letter stands in a bundle of short options, or a long option is
// given, also shortened or with a suffix (--force-with-lease). "" matches none.
func (a gitArgs) option(letter, long string) bool {
	return a.any(func(s string) bool {
		if name, ok := strings.CutPrefix(s, "--"); ok {
			name, _, _ = strings.Cut(name, "=")
			return long != "" && len(name) > 1 && (strings.HasPrefix(name, long) || strings.HasPrefix(long, name))
		}
		return letter != "" && len(s) > 1 && s[0] == '-' && strings.Contains(s[1:], letter)
	})
}

func (a gitArgs) unclear() bool {
	for _, w := range a.words {
		if !w.literal {
			return true
		}
	}
	return false
}

// isWholePath reports whether an argument of checkout can only be a path, and no branch.
func isWholePath(s string) bool {
	return strings.HasPrefix(s, ".") || strings.HasPrefix(s, ":") || strings.HasPrefix(s, "/")
}

// rewrites reports whether a refspec forces or deletes.
func rewrites(s string) bool { return strings.HasPrefix(s, "+") || strings.HasPrefix(s, ":") }

func namesAlias(s string) bool { return strings.HasPrefix(strings.ToLower(s), "alias.") }

// namesTransport reports whether an address is a command (git-remote-ext).
func namesTransport(s string) bool {
	return strings.HasPrefix(s, "ext::") || strings.Contains(s, "=ext::")
}
