package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// playACP is the command
//
//	[!] acp file [flags...]
//
// It starts nimlet with the flags and plays the dialogue in the file, from the editor's side:
//
//	-> text      sends the text as a line
//	<- object    waits for a message that has all that the object has; others before it are passed over
//	! N /pattern/ program args...   runs a program meanwhile: it must exit with status N and write
//	             on standard error what the regular expression matches
//	signal TERM  sends nimlet the signal, or HUP or INT, and waits until it has ended
//	# comment    is nothing
//
// In the object the string "$name" stands for a value that is remembered, or that must be the one
// remembered before; "/pattern/" for a string that the regular expression matches; "*" for anything.
// In text and object $name stands for the remembered value, $WORK and other variables for themselves,
// escaped for JSON.
//
// After the last line the input is closed; nimlet must then end with status 0, or another when the
// command is negated. Every line it wrote must have been a JSON-RPC message.
func playACP(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 1 {
		ts.Fatalf("usage: acp file [flags...]")
	}
	script := ts.ReadFile(args[0])
	stderr := &record{}
	c, in, out := start(ts, append([]string{"nimlet"}, args[1:]...), stderr)
	late := time.AfterFunc(hang, func() { _ = c.Process.Kill() })
	d := dialogue{ts: ts, process: c.Process, in: in, out: bufio.NewReader(out), known: map[string]any{}}
	played := d.play(script)
	_ = in.Close()
	rest := d.drain()
	onTime := late.Stop()
	err := finish(ts, c)
	_, _ = io.WriteString(ts.Stderr(), stderr.String())
	switch {
	case !onTime:
		ts.Fatalf("the dialogue did not end within %v (%v); standard error:\n%s", hang, played, stderr)
	case played != nil:
		ts.Fatalf("%s: %v; standard error:\n%s", args[0], played, stderr)
	case rest != nil:
		ts.Fatalf("%s: after the last line: %v", args[0], rest)
	case (err != nil) != neg:
		ts.Fatalf("%s: nimlet ended with %v", args[0], err)
	}
}

type dialogue struct {
	ts      *testscript.TestScript
	process *os.Process
	in      io.Writer
	out     *bufio.Reader
	known   map[string]any // by name
}

func (d *dialogue) play(script string) error {
	for number, line := range strings.Split(script, "\n") {
		line = strings.TrimRight(line, "\r")
		var err error
		switch mark, text, _ := strings.Cut(line, " "); {
		case mark == "->":
			_, err = io.WriteString(d.in, d.expand(text)+"\n")
		case mark == "<-":
			err = d.await(d.expand(text))
		case mark == "!":
			err = d.run(strings.Fields(d.expand(text)))
		case mark == "signal":
			err = d.end(text)
		case line != "" && mark != "#":
			err = fmt.Errorf("not a line of a dialogue")
		}
		if err != nil {
			return fmt.Errorf("line %d, %s: %w", number+1, line, err)
		}
	}
	return nil
}

var signals = map[string]os.Signal{"TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "INT": os.Interrupt}

// end has nimlet ended by a signal, with its input still open.
func (d *dialogue) end(name string) error {
	if signals[name] == nil {
		return fmt.Errorf("there is no signal %q here", name)
	}
	if err := d.process.Signal(signals[name]); err != nil {
		return err
	}
	return d.drain()
}

// run runs a program while the dialogue goes on.
func (d *dialogue) run(words []string) error {
	if len(words) < 3 {
		return fmt.Errorf("too few words")
	}
	stderr := &record{}
	c, in, out := start(d.ts, words[2:], stderr)
	_ = in.Close()
	_, _ = io.Copy(io.Discard, out)
	checkStatus(d.ts, words[0], finish(d.ts, c))
	if pattern := regexp.MustCompile(strings.Trim(words[1], "/")); !pattern.MatchString(stderr.String()) {
		return fmt.Errorf("standard error does not match:\n%s", stderr)
	}
	return nil
}

var variable = regexp.MustCompile(`\$[A-Za-z]\w*`)

// expand puts values in place of the names that are known.
func (d *dialogue) expand(text string) string {
	return variable.ReplaceAllStringFunc(text, func(name string) string {
		value, ok := d.known[name[1:]]
		if !ok {
			environment := d.ts.Getenv(name[1:])
			if environment == "" {
				return name
			}
			value = environment
		}
		raw, err := json.Marshal(value)
		d.ts.Check(err)
		return strings.Trim(string(raw), `"`)
	})
}

// await reads on to the message that has all that pattern has.
func (d *dialogue) await(pattern string) error {
	var want map[string]any
	if err := json.Unmarshal([]byte(pattern), &want); err != nil {
		return fmt.Errorf("the pattern: %w", err)
	}
	for {
		got, err := d.read()
		if err != nil {
			return err
		}
		found := map[string]any{}
		if matches(want, got, found) {
			for name, value := range found {
				d.known[name] = value
			}
			return nil
		}
	}
}

func (d *dialogue) read() (map[string]any, error) {
	line, err := d.out.ReadString('\n')
	_, _ = io.WriteString(d.ts.Stdout(), line)
	if err != nil {
		return nil, fmt.Errorf("reading a message: %w", err)
	}
	var message map[string]any
	if err := json.Unmarshal([]byte(line), &message); err != nil || message["jsonrpc"] != "2.0" {
		return nil, fmt.Errorf("standard output has something else than the protocol: %s", line)
	}
	return message, nil
}

// drain reads what comes after the dialogue.
func (d *dialogue) drain() error {
	for {
		if _, err := d.out.Peek(1); err != nil {
			return nil
		}
		if _, err := d.read(); err != nil {
			return err
		}
	}
}

// matches reports whether got has all that want has, and collects the values of the names in want.
func matches(want, got any, found map[string]any) bool {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		for key, value := range want {
			ok = ok && object[key] != nil && matches(value, object[key], found)
		}
		return ok
	case []any:
		array, ok := got.([]any)
		ok = ok && len(array) == len(want)
		for i := 0; ok && i < len(want); i++ {
			ok = matches(want[i], array[i], found)
		}
		return ok
	case string:
		return matchesText(want, got, found)
	}
	return reflect.DeepEqual(want, got)
}

func matchesText(want string, got any, found map[string]any) bool {
	text, isText := got.(string)
	switch {
	case want == "*":
		return true
	case variable.FindString(want) == want && want != "":
		found[want[1:]] = got
		return true
	case len(want) > 1 && want[0] == '/' && want[len(want)-1] == '/':
		return isText && regexp.MustCompile(want[1:len(want)-1]).MatchString(text)
	}
	return isText && text == want
}
