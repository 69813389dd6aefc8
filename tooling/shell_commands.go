package tooling

import "strings"

// The commands that are always asked about, besides what git and find do with certain arguments.
var dangerousCommands = setOf(`rm rmdir unlink shred truncate dd mkfs chmod chown kill pkill killall sudo su doas
	curl wget ssh scp shutdown reboot poweroff halt`)

// Commands whose arguments are, or may hold, another command. Their options are not known here:
// every suffix of their words is judged as a command, and every literal word that holds more
// than one word as shell text.
var wrapperCommands = setOf(`env nohup time timeout gtimeout nice ionice chrt taskset exec command builtin busybox toybox
	setsid setpriv stdbuf unbuffer xargs gxargs chroot unshare nsenter flock watch watchexec parallel fd fdfind entr
	strace ltrace script faketime fakeroot proot bwrap firejail systemd-run runuser pkexec run0 sg prlimit cpulimit caffeinate
	xvfb-run dbus-run-session start-stop-daemon tmux screen hyperfine npx bunx pnpx uvx direnv coproc
	mapfile readarray complete compgen bind arch linux32 linux64 not`)

var shellCommands = setOf(`sh bash rbash dash ash zsh ksh ksh93 mksh lksh yash posh fish csh tcsh`)

// command judges one simple command.
func (j *shellJudge) command(words []shellWord) {
	if len(words) == 0 {
		return
	}
	name := words[0].base()
	if !words[0].literal || !wrapperCommands[name] {
		j.simple(words)
		return
	}
	if name == "command" && looksUp(words[1:]) {
		return
	}
	j.wrapped(name, words)
}

// looksUp reports whether these are the arguments of `command -v`, which runs nothing.
func looksUp(args []shellWord) bool {
	for _, w := range args {
		if !w.literal || !w.option() || w.text == "--" {
			return false
		}
		if strings.ContainsAny(w.text, "vV") {
			return true
		}
	}
	return false
}

// wrapped judges what the wrapper words[0] may run. Suffixes that begin with a wrapper need no
// look of their own, since their suffixes are suffixes here.
func (j *shellJudge) wrapped(name string, words []shellWord) {
	appends := name == "xargs" || name == "gxargs" || name == "parallel"
	if name == "parallel" && len(words) == 1 {
		j.dangerous("parallel runs commands from its standard input")
	}
	for i := 1; i < len(words) && j.work > 0; i++ {
		j.loose(words[i])
		wraps := words[i].literal && wrapperCommands[words[i].base()]
		if appends && (wraps || takesCommands(words[i])) {
			j.unclear("some arguments of " + words[i].base() + " come from elsewhere")
		}
		if !wraps {
			j.simple(words[i:])
		}
	}
}

// takesCommands reports whether more arguments can make a harmless call of w a dangerous one.
func takesCommands(w shellWord) bool {
	name := w.base()
	return w.literal && (name == "git" || name == "find" || shellCommands[name])
}

// loose judges w as the shell text that it may be.
func (j *shellJudge) loose(w shellWord) {
	if !w.literal || !j.spend(1) {
		return
	}
	if severalWords(w.text) {
		j.text(w.text)
	}
	for _, value := range attached(w.text) {
		if severalWords(value) {
			j.text(value)
		} else {
			j.simple([]shellWord{{text: value, literal: true}, {text: "?"}})
		}
	}
}

func severalWords(s string) bool {
	return strings.ContainsAny(s, " \t\n;&|`") || strings.Contains(s, "$(")
}

// attached returns what may be the value of an option written in one word with it.
func attached(word string) (values []string) {
	if len(word) < 2 || word[0] != '-' {
		return nil
	}
	if _, value, ok := strings.Cut(word, "="); ok && value != "" {
		values = append(values, value)
	}
	if word[1] != '-' && len(word) > 2 {
		values = append(values, word[2:])
	}
	return values
}

// simple judges words as a command that is no wrapper.
func (j *shellJudge) simple(words []shellWord) {
	if !j.spend(len(words)) {
		return
	}
	if !words[0].literal {
		j.unclear("which command it runs is not literal")
		return
	}
	name, args := words[0].base(), words[1:]
	switch {
	case dangerousCommands[name], strings.HasPrefix(name, "mkfs."):
		j.dangerous(name + " is asked about every time")
	case shellCommands[name]:
		j.shell(name, args)
	case name == "git":
		j.git(args)
	case name == "find" || name == "gfind":
		j.find(args)
	case name == "eval" || name == "trap":
		j.eval(name, args)
	case name == "." || name == "source":
		j.source(name, args)
	case name == "alias" || name == "hash" || name == "enable":
		j.unclear(name + " changes what command names mean")
	case name == "cmd" || name == "powershell" || name == "pwsh":
		j.unclear(name + " runs text of another shell")
	}
}

// shell judges a call of a shell: the text it is given, or where its script comes from.
func (j *shellJudge) shell(name string, args []shellWord) {
	if len(args) == 1 && (args[0].text == "--version" || args[0].text == "--help") {
		return
	}
	for _, w := range args {
		j.loose(w)
	}
	for i := 0; i < len(args); i++ {
		w := args[i]
		switch {
		case !w.literal || !w.option() || w.text == "--":
			if w.text == "--" && w.literal {
				i++
			}
			j.script(name, args[i:])
			return
		case isTextOption(w.text):
			j.shellText(name, args[i+1:])
			return
		case takesValue(w.text):
			i++
		case isStdinOption(w.text):
			j.script(name, nil)
			return
		}
	}
	j.script(name, nil)
}

// bash takes its long options with one dash too.
var longOptions = setOf(`-norc -noprofile -rcfile -init-file -login -posix -restricted -verbose -noediting -nolineediting -protected -wordexp`)

func isTextOption(option string) bool {
	if strings.HasPrefix(option, "--") || longOptions[option] {
		return strings.HasPrefix(option, "--command") || strings.HasPrefix(option, "--init-command")
	}
	return strings.Contains(option, "c")
}

// takesValue reports whether a shell's option has its value in the next word. One that is
// wrongly thought to makes a script look like standard input, which is the safe mistake.
func takesValue(option string) bool {
	if strings.HasPrefix(option, "--") || longOptions[option] {
		return strings.HasSuffix(option, "file") && !strings.Contains(option, "profile")
	}
	return strings.ContainsAny(option, "oO")
}

func isStdinOption(option string) bool {
	return !strings.HasPrefix(option, "--") && !longOptions[option] && strings.Contains(option, "s")
}

// shellText judges the words after `-c`: the first that is no option is the text, the others are
// its parameters; they are judged alike, since options may stand between.
func (j *shellJudge) shellText(name string, args []shellWord) {
	found := false
	for _, w := range args {
		if w.literal {
			found = found || !w.option()
			j.text(w.text)
		} else if !found {
			j.unclear("the text that " + name + " runs is not literal")
			found = true
		}
	}
	if !found {
		j.script(name, nil)
	}
}

// script judges the script of a shell: args begin with its name, or are empty when it comes
// from standard input.
func (j *shellJudge) script(name string, args []shellWord) {
	switch {
	case len(args) == 0 || args[0].process || args[0].literal && isStream(args[0].text):
		j.dangerous(name + " runs a script that it is handed by another command")
	case !args[0].literal:
		j.unclear("the script that " + name + " runs is not literal")
	}
}

// source judges the script that this shell is to run itself.
func (j *shellJudge) source(name string, args []shellWord) {
	if len(args) > 0 && args[0].literal && args[0].text == "--" {
		args = args[1:]
	}
	if len(args) > 0 {
		j.script(name, args)
	}
}

// isStream reports whether a file name stands for an open stream.
func isStream(name string) bool {
	return name == "-" || strings.HasPrefix(name, "/dev/") || strings.HasPrefix(name, "/proc/")
}

// eval judges the text that eval and trap run.
func (j *shellJudge) eval(name string, args []shellWord) {
	texts := make([]string, 0, len(args))
	for _, w := range args {
		if !w.literal {
			j.dangerous(name + " runs text that is not literal")
			return
		}
		if w.text != "--" {
			texts = append(texts, w.text)
		}
	}
	if name == "eval" {
		j.text(strings.Join(texts, " "))
	} else if len(texts) > 0 {
		j.text(texts[0])
	}
}

// find judges what find does with the files it finds.
func (j *shellJudge) find(args []shellWord) {
	runs := false
	for i, w := range args {
		switch {
		case !w.literal && !runs:
			j.unclear("an argument of find is not literal")
		case w.text == "-delete":
			j.dangerous("find -delete is asked about every time")
		case strings.HasPrefix(w.text, "-exec") || strings.HasPrefix(w.text, "-ok"):
			runs = true
			j.wrapped("find", args[i:])
		}
	}
}
