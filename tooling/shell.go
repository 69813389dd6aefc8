package tooling

import (
	"path"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// maxShellText is the longest command, in bytes, that is judged at all.
const maxShellText = 16 << 10

// maxShellWork bounds the judging of commands that wrap commands that wrap commands. It is
// counted in bytes parsed and words looked at, far above what any honest command needs.
const maxShellWork = 1 << 20

// JudgeShell says why command must be asked about every time; reason is "" when one answer may
// be remembered for exactly this text. dangerous is set when it was found to delete, overwrite
// or reach out (rm, curl, git reset --hard …), and not set when it merely cannot be judged: a
// command word that is not literal, an alias or function, several lines, text that does not
// parse (spec: permissions).
//
// The text is parsed as bash does, never searched: `echo rm` is harmless, `\rm`, `/bin/rm`,
// `x=1 r"m"` and `$(rm x)` are not. What is judged is the words that bash would run, so
// it errs to the side of asking: nothing is learned of options, variables or files.
func JudgeShell(command string) (reason string, dangerous bool) {
	j := shellJudge{work: maxShellWork, seen: map[string]bool{}}
	command = strings.Trim(command, " \t\n")
	switch {
	case len(command) > maxShellText:
		j.unclear("it is longer than 16 KiB")
	case strings.ContainsFunc(command, hidden):
		j.unclear("it holds control characters")
	default:
		j.text(command)
	}
	if strings.Contains(command, "\n") {
		j.unclear("it has several lines")
	}
	if j.danger != "" {
		return j.danger, true
	}
	return j.doubt, false
}

// hidden reports whether a person would not see r in a question.
func hidden(r rune) bool {
	switch r {
	case '\n', '\t':
		return false
	case '\u200c', '\u200d': // they join letters of some scripts, and emoji
		return false
	}
	// Those that turn the direction of text or have no width are of the format class.
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// A shellJudge collects what is found in one command and in the texts within it.
type shellJudge struct {
	work   int             // left to spend
	seen   map[string]bool // texts that were judged, since one text can be reached in many ways
	danger string          // the first reason to call it dangerous
	doubt  string          // the first reason to ask every time
}

func (j *shellJudge) dangerous(reason string) {
	if j.danger == "" {
		j.danger = reason
	}
}

func (j *shellJudge) unclear(reason string) {
	if j.doubt == "" {
		j.doubt = reason
	}
}

// spend reports whether n more units of work may be done.
func (j *shellJudge) spend(n int) bool {
	j.work -= n
	if j.work < 0 {
		j.unclear("it is too involved to be judged")
	}
	return j.work >= 0
}

// text judges s as a shell would run it.
func (j *shellJudge) text(s string) {
	if j.seen[s] || !j.spend(len(s)) {
		return
	}
	j.seen[s] = true
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(s), "")
	if err != nil {
		j.unclear("it cannot be parsed")
	}
	if file != nil { // on an error, what was parsed before it
		syntax.Walk(file, j.node)
	}
}

// node judges one node of the syntax tree; the walk reaches those inside of it, also the ones in
// substitutions, here-documents and arithmetic.
func (j *shellJudge) node(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.CallExpr:
		words := make([]shellWord, len(n.Args))
		for i, w := range n.Args {
			words[i] = wordOf(w)
		}
		j.command(words)
	case *syntax.FuncDecl:
		j.unclear("it declares a function")
	case *syntax.Assign:
		j.assign(n)
	case *syntax.ParamExp:
		if n.Exp != nil && n.Exp.Op == syntax.OtherParamOps {
			j.unclear("it expands the value of a variable once more")
		}
	case *syntax.Word:
		// Arithmetic runs the substitutions in an index, even those of quoted text.
		if w := wordOf(n); strings.Contains(w.text, "[$(") || strings.Contains(w.text, "[`") {
			j.unclear("it holds a substitution that arithmetic would run")
		}
	}
	return true
}

// assign judges a variable whose value some program runs as a command.
func (j *shellJudge) assign(a *syntax.Assign) {
	switch {
	case a.Value == nil:
	case a.Name == nil: // declare "x=y"
		j.setting(wordOf(a.Value))
	default:
		j.set(a.Name.Value, wordOf(a.Value))
	}
}

// setting judges w as the assignment that it may be, as `env x=y` and `export "x=y"` have it.
func (j *shellJudge) setting(w shellWord) {
	if name, value, ok := strings.Cut(w.text, "="); ok {
		j.set(name, shellWord{text: value, literal: w.literal})
	}
}

// set judges that the variable of this name gets the value.
func (j *shellJudge) set(name string, value shellWord) {
	switch {
	case name == "BASH_ENV" || name == "ENV" || strings.HasPrefix(name, "BASH_FUNC_"):
		j.unclear("it sets " + name + ", which shells run")
	case strings.HasPrefix(name, "GIT_CONFIG") || name == "GIT_EXEC_PATH":
		j.dangerous("it sets " + name + ", which can have git run anything")
	case runsItsValue[name] && value.literal:
		j.text(value.text)
	case runsItsValue[name]:
		j.unclear("it sets " + name + " to something that is not literal")
	}
}

var runsItsValue = setOf(`PAGER EDITOR VISUAL BROWSER LESSOPEN LESSCLOSE MANPAGER PROMPT_COMMAND PS0 PS1 PS2 PS4
	GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_EXTERNAL_DIFF GIT_SSH GIT_SSH_COMMAND GIT_ASKPASS GIT_PROXY_COMMAND SSH_ASKPASS`)

func setOf(names string) map[string]bool {
	set := map[string]bool{}
	for _, name := range strings.Fields(names) {
		set[name] = true
	}
	return set
}

// A shellWord is one word of a command.
type shellWord struct {
	text    string // with quotes and escapes removed; of a word that is not literal, its literal parts
	literal bool   // it expands to text and nothing else
	process bool   // it is, or holds, a process substitution
}

// base is the name of the program that w runs as a command word: without folders and an
// executable's extension, in lower case, since some file systems do not tell the cases apart.
func (w shellWord) base() string {
	name := path.Base(strings.ToLower(strings.ReplaceAll(w.text, `\`, "/")))
	for _, ext := range []string{".exe", ".com", ".bat", ".cmd"} {
		name = strings.TrimSuffix(name, ext)
	}
	return name
}

// option reports whether w is an option.
func (w shellWord) option() bool {
	return len(w.text) > 1 && (w.text[0] == '-' || w.text[0] == '+')
}

// wordOf removes the quotes of w.
func wordOf(w *syntax.Word) shellWord {
	word := shellWord{literal: true}
	var text strings.Builder
	word.add(&text, w.Parts, false)
	word.text = text.String()
	if word.text == "[" { // the test command; a glob has an end
		word.literal = true
	}
	return word
}

// add appends parts, which stand between double quotes when quoted is set.
func (w *shellWord) add(text *strings.Builder, parts []syntax.WordPart, quoted bool) {
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if !quoted && expands(part.Value) {
				w.literal = false
			}
			unescape(text, part.Value, quoted)
		case *syntax.SglQuoted:
			if part.Dollar && strings.Contains(part.Value, `\`) {
				w.literal = false // $'\x72m': escapes of its own
			}
			text.WriteString(part.Value)
		case *syntax.DblQuoted:
			w.add(text, part.Parts, true)
		case *syntax.ProcSubst:
			w.literal, w.process = false, true
		default:
			w.literal = false
		}
	}
}

// expands reports whether bash would make other words of this unquoted text: a glob or braces.
func expands(lit string) bool {
	brace := false
	for i := 0; i < len(lit); i++ {
		switch lit[i] {
		case '\\':
			i++
		case '*', '?', '[':
			return true
		case '{':
			brace = true
		case ',', '.':
			if brace {
				return true
			}
		}
	}
	return false
}

// unescape writes lit without its backslashes; between double quotes they are special only
// before four characters.
func unescape(text *strings.Builder, lit string, quoted bool) {
	for i := 0; i < len(lit); i++ {
		if lit[i] == '\\' && i+1 < len(lit) && (!quoted || strings.IndexByte("$`\"\\\n", lit[i+1]) >= 0) {
			i++
			if lit[i] == '\n' {
				continue
			}
		}
		text.WriteByte(lit[i])
	}
}
