package tooling

import (
	"slices"
	"strings"
)

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
	mapfile readarray complete compgen bind setarch arch linux32 linux64 wsl winpty`)

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
	if !j.spend(len(words)) {
		return
	}
	appends := name == "xargs" || name == "gxargs" || name == "parallel"
	if runsItems(name, words) {
		j.unclear(name + " runs what it is handed by another command")
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

// runsItems reports whether what a wrapper reads, or finds, takes the place of the command.
func runsItems(name string, words []shellWord) bool {
	switch name {
	case "parallel":
		listed := func(w shellWord) bool { return w.text == ":::" }
		return !slices.ContainsFunc(words, listed)
	case "xargs", "gxargs":
		return xargsRunsItems(words)
	}
	for i := 0; i+1 < len(words); i++ {
		if runsNext[words[i].text] && strings.Contains(words[i+1].text, "{") {
			return true
		}
	}
	return false
}

// The options of find and fd that a command follows.
var runsNext = setOf(`-exec -execdir -ok -okdir -x -X --exec --exec-batch`)

// xargsRunsItems reports whether the command of xargs is what -I stands for.
func xargsRunsItems(words []shellWord) bool {
	mark := ""
	for i := 1; i < len(words); i++ {
		w := words[i].text
		switch {
		case w == "-I" && i+1 < len(words):
			i++
			mark = words[i].text
		case strings.HasPrefix(w, "-I"):
			mark = w[2:]
		case strings.HasPrefix(w, "--replace="):
			mark = strings.TrimPrefix(w, "--replace=")
		case w == "-i" || w == "--replace":
			mark = "{}"
		case xargsValue[w]:
			i++
		case !words[i].option():
			return mark != "" && strings.Contains(w, mark)
		}
	}
	return false
}

var xargsValue = setOf(`-n -P -L -s -d -a -E --max-args --max-procs --max-lines --max-chars --delimiter --arg-file`)

// takesCommands reports whether more arguments can make a harmless call of w a dangerous one.
func takesCommands(w shellWord) bool {
	name := w.base()
	return w.literal && (name == "git" || name == "find" || shellCommands[name])
}

// loose judges w as the shell text that it may be.
func (j *shellJudge) loose(w shellWord) {
	j.setting(w)
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

// attached returns what may be the value of an option written in one word with it, also of the
// last in a bundle: in -qvx it can be qvx, vx or x without the first letter.
func attached(word string) (values []string) {
	if len(word) < 2 || word[0] != '-' {
		return nil
	}
	if _, value, ok := strings.Cut(word, "="); ok && value != "" {
		values = append(values, value)
	}
	if word[1] == '-' {
		return values
	}
	const bundle = 8 // options without a value before the one that has it
	for i := 2; i < min(len(word), 2+bundle); i++ {
		values = append(values, word[i:])
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
	case dangerousCommands[name], dangerousCommands[strings.TrimPrefix(name, "g")], strings.HasPrefix(name, "mkfs."):
		j.dangerous(name + " is asked about every time")
	case shellCommands[name]:
		j.shell(name, args)
	case name == "git":
		j.git(args)
	case strings.HasPrefix(name, "git-"): // as they lie in git's own folder
		j.gitCommand(strings.TrimPrefix(name, "git-"), args)
	case name == "find" || name == "gfind":
		j.find(args)
	case name == "eval" || name == "trap":
		j.eval(name, args)
	case name == "." || name == "source":
		j.source(name, args)
	case name == "alias" || name == "hash" || name == "enable":
		j.unclear(name + " changes what command names mean")
	case name == "at" || name == "batch" || name == "crontab":
		j.unclear(name + " runs commands later")
	case name == "cmd" || name == "powershell" || name == "pwsh":
		j.unclear(name + " runs text of another shell")
	}
}

// find judges what find does with the files it finds.
func (j *shellJudge) find(args []shellWord) {
	runs := false
	for i, w := range args {
		switch {
		case !w.literal:
			j.unclear("an argument of find is not literal")
		case w.text == "-delete":
			j.dangerous("find -delete is asked about every time")
		case !runs && (strings.HasPrefix(w.text, "-exec") || strings.HasPrefix(w.text, "-ok")):
			runs = true
			j.wrapped("find", args[i:]) // later ones are among its suffixes
		}
	}
}
