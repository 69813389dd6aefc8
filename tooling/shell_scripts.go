package tooling

import "strings"

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
