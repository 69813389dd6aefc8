package builtin

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ripgrepPattern returns the pattern of q as ripgrep has to be told it, so that it means the same:
// printed from the parse tree, \d \w \s are the ASCII classes they are in RE2, and word boundaries
// are made so. ok is false for the few things that cannot be said.
func (q query) ripgrepPattern() (pattern string, ok bool) {
	if !saysTheSame(q.tree) {
		return "", false
	}
	text := q.tree.String()
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out.WriteByte(text[i])
			continue
		}
		escape := text[i : i+2]
		i++
		if escape == `\b` || escape == `\B` {
			escape = "(?-u:" + escape + ")"
		}
		out.WriteString(escape)
	}
	return out.String(), true
}

// saysTheSame reports whether ripgrep can be told re. \A and \z are ends of a line here and of the
// file there; \n, which no line has, is an error there; \B may stand inside a character there.
func saysTheSame(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpBeginText, syntax.OpEndText, syntax.OpNoWordBoundary, syntax.OpNoMatch:
		return false
	case syntax.OpLiteral:
		if slices.Contains(re.Rune, '\n') {
			return false
		}
	case syntax.OpCharClass:
		// A class of \n alone; a wider one just never meets it.
		if slices.Equal(re.Rune, []rune{'\n', '\n'}) {
			return false
		}
	}
	for _, sub := range re.Sub {
		if !saysTheSame(sub) {
			return false
		}
	}
	return true
}

// errNoRipgrep says that the search has to be done here.
var errNoRipgrep = errors.New("ripgrep cannot do this search")

// maxSorted is how many matches of ripgrep are put in order. It finds them in any order; where
// there are more, those that are shown are the first of the first that came.
const maxSorted = 5_000

// ripgrep is search done by the program rg, errNoRipgrep when it cannot.
func (q query) ripgrep(ctx context.Context, rg string, env []string, p Place, limit int) ([]match, bool, error) {
	pattern, ok := q.ripgrepPattern()
	if !ok {
		return nil, false, errNoRipgrep
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, rg, q.ripgrepArgs(pattern, p)...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = p.Path, env, time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, false, errNoRipgrep
	}
	if err := cmd.Start(); err != nil {
		return nil, false, errNoRipgrep
	}
	found := matches{max: limit + 1}
	read, err := q.readMatches(out, &found)
	if read >= maxSorted || err != nil {
		cancel()
	}
	waited := cmd.Wait()
	list, more := found.first(limit)
	// 1 is no match; 2 with matches is a file that could not be read, 2 without may be anything.
	if code := cmd.ProcessState.ExitCode(); waited != nil && code != 1 && read == 0 {
		return nil, false, errNoRipgrep
	}
	return list, more, nil
}

// ripgrepArgs makes ripgrep search what search does: hidden files, the repository's own ignore
// rules alone, lines that may end in CRLF.
func (q query) ripgrepArgs(pattern string, p Place) []string {
	args := []string{
		"--no-config", "--color=never", "--no-heading", "--with-filename", "--line-number", "--null",
		"--no-messages", "--crlf", "--hidden", "--no-ignore-dot", "--no-ignore-global", "--no-require-git",
		"--glob=!.git",
	}
	if ignoresAround(p.Path) == nil {
		args = append(args, "--no-ignore-parent")
	}
	// A --glob would bring back ignored files; a file type does not, but knows the name alone.
	if name := q.glob[strings.LastIndexByte(q.glob, '/')+1:]; name != "" && !strings.Contains(name, "**") && !strings.ContainsAny(q.glob, "{}") {
		args = append(args, "--type-add=wanted:"+name, "--type=wanted")
	}
	return append(args, "--regexp="+pattern, "./")
}

// readMatches adds the lines of out, "path NUL number colon text", until there are maxSorted.
func (q query) readMatches(out io.Reader, found *matches) (read int, err error) {
	in := bufio.NewReaderSize(out, 64<<10)
	buffer := make([]byte, 0, maxLine+2)
	for read < maxSorted {
		head, err := in.ReadSlice(0)
		if errors.Is(err, io.EOF) {
			return read, nil
		}
		if err != nil || len(head) < len("./x\x00") {
			return read, errors.Join(err, errNoRipgrep)
		}
		path := string(head[2 : len(head)-1]) // after "./"
		number, err := in.ReadSlice(':')
		if err != nil {
			return read, err
		}
		line, err := strconv.Atoi(string(number[:len(number)-1]))
		if err != nil {
			return read, err
		}
		text, size, err := nextLine(in, buffer)
		if err != nil && !errors.Is(err, io.EOF) {
			return read, err
		}
		if path = filepath.ToSlash(path); q.wants(path) {
			read++
			found.add([]match{{path, line, q.clip(text, size)}})
		}
	}
	return read, nil
}
