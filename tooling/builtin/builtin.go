// Package builtin holds the nine tools that every session has: read, grep, glob, edit, write,
// bash, git, read_skill and ask_user.
//
// It also draws the line around the workspace. A Workspace is the folders a session was opened
// on; Resolve is the one place that decides whether a path lies in them, and everything is then
// done through an os.Root, so that a link swapped in after the decision is refused by the system
// rather than followed. Text that an editor holds and the disk does not is reached through the
// small interface Buffers; nothing here knows which editor that is.
package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"nimlet/session"
	"nimlet/tooling"
)

// A Config is what the built-in tools of one session share.
type Config struct {
	Workspace *Workspace
	Buffers   Buffers        // nil: there is only the disk
	OutputDir string         // where whole outputs that were capped are kept; made when needed; "" or unwritable: the cap applies, without a file
	MaxOutput int            // bytes of a command's output that a result holds; 0 means 100000
	Skills    func() []Skill // the skills of now; nil: none
	Env       []string       // environment of children; nil: that of this process
}

// Buffers is the editor's view of the files it has open. Paths are absolute and spelled as the
// folders given to NewWorkspace are.
type Buffers interface {
	// Unsaved returns the editor's text of path when it holds changes that the disk has not.
	// disk is the file as it is now, nil when there is none.
	Unsaved(ctx context.Context, path string, disk []byte) (text string, unsaved bool)

	// Write offers the new text of path to the editor. When handled is false the caller writes
	// it to disk. unsaved says that the text it replaces was an unsaved one.
	Write(ctx context.Context, path, text string, unsaved bool) (handled bool, err error)

	// Saw tells what the disk holds after a look or a write of ours; disk is nil for no file.
	Saw(path string, disk []byte)

	// Dirty returns the paths that are known to be unsaved in the editor.
	Dirty() []string
}

// A Skill is a text that a model may read when its description fits the task.
type Skill struct {
	Name        string
	Description string
	Dir         string // absolute folder the skill stands in
	File        string // absolute path of its SKILL.md
}

// Tools returns the built-in tools, in the order in which models are told of them.
func Tools(c Config) []tooling.Tool {
	return []tooling.Tool{
		read{c}, newGrep(c), glob{c}, edit{c}, write{c}, newBash(c), newGit(c), readSkill{c}, newAskUser(),
	}
}

// decode reads the arguments of call into T. They have passed the schema when a tool runs, but
// not yet when it describes a call.
func decode[T any](call session.Call) (T, error) {
	var args T
	if err := json.Unmarshal(call.Input, &args); err != nil {
		return args, fmt.Errorf("reading the arguments of %s: %w", call.Name, err)
	}
	return args, nil
}

// failed is the result of a call that did not work out, in words for the model.
func failed(err error) session.Result {
	return session.Result{Output: err.Error(), IsError: true}
}

// answer gives an error of a run the form Tool.Run promises: the end of ctx is the host's to
// know, everything else the model's.
func answer(ctx context.Context, r session.Result, err error) (session.Result, error) {
	if ctx.Err() != nil {
		return session.Result{}, context.Cause(ctx)
	}
	if err != nil {
		return failed(err), nil
	}
	return r, nil
}

// unsavedNote is the line that a result of a tool that sees only the disk begins with: the files
// whose text in the editor is another. It is "" when there are none, else ends in a newline.
func (c Config) unsavedNote() string { return c.unsavedIn([]Place{{}}) }

// unsavedIn is unsavedNote for the files that are, or lie below, one of places.
func (c Config) unsavedIn(places []Place) string {
	if c.Buffers == nil {
		return ""
	}
	var names []string
	for _, path := range c.Buffers.Dirty() {
		file, err := c.Workspace.Resolve(path, ForReading)
		if err == nil && slices.ContainsFunc(places, file.below) {
			names = append(names, file.Short)
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return "not saved in the editor: " + strings.Join(names, ", ") + "\n"
}

// below reports whether p is dir or lies below it; everything lies below the zero Place.
func (p Place) below(dir Place) bool {
	_, below := within(dir.Path, p.Path)
	return below
}
