package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"nimlet/agent"
	"nimlet/agent/config"
	"nimlet/session"
	"nimlet/tooling"
	"nimlet/tooling/builtin"
)

// A Session is one live conversation with its agent, tools and editor.
type Session struct {
	server      *Server
	id          string
	place       Place
	workspace   *builtin.Workspace
	permissions *tooling.Permissions
	editor      Editor
	source      *source
	line        line

	mu       sync.Mutex // guards what follows; none of it changes while a turn runs
	store    *session.Store
	agent    *agent.Agent
	tools    *tooling.Registry
	commands agent.Commands
	settings config.Settings
	trusted  bool
	pending  []agent.Notice  // what the person is told when the next prompt runs
	heard    int             // how many of the store's warnings are, or were, among them
	title    string          // that the editor knows
	asked    bool            // whether to trust the folder needs no question any more
	unstored int             // counts the answers of commands that were not stored
	watched  []string        // the files and folders that wire reads
	stamp    string          // what they were when it did
	beside   map[string]bool // the AGENTS.md files further down that the model has been given
	told     bool            // the person knows what an untrusted folder does not get
}

func newSession(s *Server, store *session.Store, p Place, attach func(id string) Editor) (*Session, error) {
	workspace, err := builtin.NewWorkspace(p.Dir, p.More)
	if err != nil {
		return nil, &PlaceError{err}
	}
	workspace.Protect(s.ownFiles()...)
	live := &Session{server: s, id: store.ID(), place: p, workspace: workspace, store: store, title: store.Title()}
	live.source = newSource(live)
	live.editor = attach(live.id)
	live.permissions = tooling.NewPermissions(tooling.PermissionsConfig{
		Folder:     workspace.Root(),
		GrantsFile: s.opts.Home.GrantsFile(),
		Allow:      s.opts.Allow,
		Project:    live.projectGrants,
		Yolo:       &s.yolo,
		Warn:       func(text string) { live.warn("%s", text) },
	})
	live.noteStoreLocked() // nobody else knows it yet
	live.trusted, live.asked = live.decidedTrust()
	live.wire(agent.Mode(store.Mode()))
	live.source.choose(s.firstChoice(live.settings, store))
	return live, nil
}

// ID returns the id by which the editor knows the session, as long as the process lives.
func (s *Session) ID() string { return s.id }

// Place returns where the session works.
func (s *Session) Place() Place { return s.place }

// Store returns where the conversation is kept now; /new puts another in its place.
func (s *Session) Store() *session.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store
}

func (s *Session) theAgent() *agent.Agent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.agent
}

// Mode returns what the session may do now.
func (s *Session) Mode() agent.Mode { return s.theAgent().Mode() }

// SetMode changes what the session may do, from the next tool call on.
func (s *Session) SetMode(m agent.Mode) error { return s.theAgent().SetMode(m) }

// Commands returns the slash commands to offer.
func (s *Session) Commands() agent.Commands {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commands.Offered()
}

// Replay tells emit the whole conversation so far, as it was shown when it happened. What a running
// turn does meanwhile is shown after it.
func (s *Session) Replay(ctx context.Context, emit func(agent.Event)) {
	s.mu.Lock()
	store, tools, a := s.store, s.tools, s.agent
	s.mu.Unlock()
	a.Pause(func() { agent.Replay(until(ctx, store), tools, s.source.window(), emit) })
}

// until walks the events that a store has now, and stops when ctx ends.
func until(ctx context.Context, store *session.Store) func(yield func(int, session.Event) bool) {
	n := store.Len()
	return func(yield func(int, session.Event) bool) {
		for i, e := range store.All() {
			if i >= n || ctx.Err() != nil || !yield(i, e) {
				return
			}
		}
	}
}

// Accept puts a prompt in line. It must be called in the order in which prompts arrive and does
// not wait; the Ticket goes to Prompt.
func (s *Session) Accept(ctx context.Context) (*Ticket, error) { return s.line.join(ctx) }

// Cancel stops the running prompt and those that wait, and none that comes later.
func (s *Session) Cancel() { s.line.cancelAll() }

// Steer has a message enter the running turn; it reports false when none runs.
func (s *Session) Steer(m Message) bool {
	if !s.line.busy() {
		return false
	}
	s.theAgent().Steer(m)
	return true
}

// Withdraw gives up a Ticket that will not be used.
func (s *Session) Withdraw(t *Ticket) { s.line.leave(t) }

// KeepAttachment stores data that came with a prompt where the tools can read it, and returns its
// path. name is a wish; it never leads out of the folder.
func (s *Session) KeepAttachment(name string, data []byte) (string, error) {
	dir := s.outputDir(s.Store())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("keeping the attachment %s: %w", name, err)
	}
	name = strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r == ':' || r < ' ' {
			return '_'
		}
		return r
	}, name)
	f, err := os.CreateTemp(dir, "attached-*-"+strings.ReplaceAll(name, "*", "_"))
	if err != nil {
		return "", fmt.Errorf("keeping the attachment %s: %w", name, err)
	}
	_, err = f.Write(data)
	return f.Name(), errors.Join(err, f.Close())
}

func (s *Session) busy() bool { return s.line.busy() }

// at reports whether the session works in p already.
func (s *Session) at(p Place) bool {
	return filepath.Clean(s.place.Dir) == filepath.Clean(p.Dir) && slices.Equal(s.place.More, p.More)
}

// closeGrace bounds how long closing waits for a turn to end and its file to be on disk.
const closeGrace = 3 * time.Second

func (s *Session) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
	defer cancel()
	err := s.line.close(ctx)
	if s.Store().Path() == "" {
		err = errors.Join(err, os.RemoveAll(s.outputDir(s.Store())))
	}
	return errors.Join(err, s.Store().Close(), s.workspace.Close())
}

// outputDir is where whole outputs of a conversation go that were cut for the model. One in memory
// keeps them as long as it lives.
func (s *Session) outputDir(store *session.Store) string {
	if dir := store.OutputDir(); dir != "" {
		return dir
	}
	return filepath.Join(os.TempDir(), "nimlet-"+s.id+".output")
}
