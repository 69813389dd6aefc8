// Package server keeps the live sessions of one process. It introduces the parts to each other:
// the store, the agent, the tools, the permissions and the editor, which never meet otherwise.
// What an editor says and is told passes through Editor; the dialects (server/acp, server/headless)
// translate it, and only they know a protocol.
package server

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"nimlet/agent/config"
	"nimlet/session"
)

// Options is what a process was started with.
type Options struct {
	Version    string
	Home       config.Home
	UserHome   string      // where ~/.agents lies; "" when the user has none
	ConfigFile string      // --config; "" for none
	Tools      []string    // --tools; nil means all, empty none
	Allow      []string    // --allow: keys that are granted for this process
	Yolo       bool        // --yolo
	NoSession  bool        // --no-session: conversations are kept in memory
	Choice     Choice      // --provider, --model, --thinking
	Trust      *bool       // --approve and --no-approve; nil leaves it to trust.json
	Environ    []string    // of this process; programs that tools run get it without the user's keys
	Logger     *zap.Logger // never nil
}

// A Server holds the live sessions of a process. Its methods may be called from any goroutine.
type Server struct {
	opts     Options
	settings config.Settings // without any project's
	problems []config.Problem
	getenv   func(string) string // of this process's environment, keys included
	yolo     atomic.Bool         // holds for all sessions
	gates    gates

	mu     sync.Mutex
	live   map[string]*Session // by the id the editor knows
	opened sync.WaitGroup      // the sessions that are not closed yet
}

// ErrNotFound says that there is no session of an id; the dialects have a code for it.
var ErrNotFound = session.ErrNotFound

// A PlaceError says that a session cannot work where the editor wants it to.
type PlaceError struct{ Err error }

func (e *PlaceError) Error() string { return e.Err.Error() }
func (e *PlaceError) Unwrap() error { return e.Err }

// New returns a Server without sessions. It reads the user's settings; what is wrong in them is
// told in each session's first turn.
func New(o Options) *Server {
	settings, problems := config.Load(o.Home, "", false, o.ConfigFile)
	s := &Server{opts: o, settings: settings, problems: problems, getenv: lookupIn(o.Environ), live: map[string]*Session{}}
	s.yolo.Store(o.Yolo)
	return s
}

// lookupIn returns what os.Getenv is for an environment that is given.
func lookupIn(environ []string) func(string) string {
	return func(name string) string {
		for _, entry := range environ {
			known, value, _ := strings.Cut(entry, "=")
			if known == name || runtime.GOOS == "windows" && strings.EqualFold(known, name) {
				return value
			}
		}
		return ""
	}
}

// SessionsDir returns where conversations are stored.
func (s *Server) SessionsDir() string { return s.settings.Agent.SessionDir }

// Settings returns the user's settings, without any project's.
func (s *Server) Settings() config.Settings { return s.settings }

// ownFiles returns where all that decides what a session may do is read from, and where sessions
// are kept. It can lie in a workspace, so that no tool may change it unasked.
func (s *Server) ownFiles() []string {
	files := []string{string(s.opts.Home), s.opts.Home.GrantsFile(), s.opts.Home.TrustFile(), s.opts.Home.ConfigFile(), s.SessionsDir()}
	if s.opts.ConfigFile != "" {
		if path, err := filepath.Abs(s.opts.ConfigFile); err == nil {
			files = append(files, path)
		}
	}
	if s.opts.UserHome != "" {
		for _, name := range []string{".agents", ".agent"} {
			files = append(files, filepath.Join(s.opts.UserHome, name))
		}
	}
	return files
}

// Problems returns what is wrong in the user's settings.
func (s *Server) Problems() []config.Problem { return s.problems }

// A Place is where a session works.
type Place struct {
	Dir  string   // the workspace: an absolute path of a folder
	More []string // further folders its tools may touch
}

// Create starts a new session in p for the editor that attach makes, given the session's id.
// A *PlaceError says that p is no place to work.
func (s *Server) Create(p Place, attach func(id string) Editor) (*Session, error) {
	store, unkept := s.newStore(p)
	live, err := s.start(store, p, attach)
	if err == nil && unkept != nil {
		live.noteUnkept(unkept)
	}
	return live, err
}

// newStore begins a conversation. Where it cannot be stored it is kept in memory, and unkept says
// why: a home that is full or cannot be written to is no reason not to work.
func (s *Server) newStore(p Place) (store *session.Store, unkept error) {
	now := time.Now()
	h := session.Header{ID: session.NewID(now), Workspace: p.Dir, Directories: p.More, Created: now}
	if s.opts.NoSession {
		return session.InMemory(h), nil
	}
	if err := session.Usable(s.SessionsDir()); err != nil {
		return session.InMemory(h), err
	}
	store, err := session.Create(s.SessionsDir(), h)
	if err != nil {
		return session.InMemory(h), err
	}
	return store, nil
}

// Open returns the session of that id, working in p from now on: the live one when there is one
// here, else the stored one. ErrNotFound and *session.LockedError come through.
func (s *Server) Open(ctx context.Context, id string, p Place, attach func(id string) Editor) (*Session, error) {
	leave, err := s.gates.enter(ctx, s.known(id))
	if err != nil {
		return nil, err
	}
	defer leave()
	if live, ok := s.Live(id); ok {
		if live.at(p) {
			return live, nil
		}
		if live.busy() {
			return nil, &PlaceError{fmt.Errorf("session %s is at work in %s: it can be moved to %s when its turn has ended", id, live.place.Dir, p.Dir)}
		}
		if err := s.close(ctx, id); err != nil {
			return nil, err
		}
	}
	store, err := session.Open(s.SessionsDir(), id)
	if err != nil {
		return nil, err
	}
	return s.start(store, p, attach)
}

// start makes a live session of a store. It owns the store from here on.
func (s *Server) start(store *session.Store, p Place, attach func(id string) Editor) (*Session, error) {
	live, err := newSession(s, store, p, attach)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live[live.id] = live
	s.opened.Add(1)
	return live, nil
}

// Live returns the live session that an editor knows by id. A session whose conversation was
// begun anew (/new) is known by both ids.
func (s *Server) Live(id string) (*Session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if live, ok := s.live[id]; ok {
		return live, true
	}
	for _, live := range s.live {
		if live.Store().ID() == id {
			return live, true
		}
	}
	return nil, false
}

// Close ends a live session: its turn is cancelled and waited for, its conversation is on disk
// when Close returns. An id that is not live is no error.
func (s *Server) Close(ctx context.Context, id string) error {
	leave, err := s.gates.enter(ctx, s.known(id))
	if err != nil {
		return err
	}
	defer leave()
	return s.close(ctx, id)
}

// known returns the id by which a session goes while it is live.
func (s *Server) known(id string) string {
	if live, ok := s.Live(id); ok {
		return live.id
	}
	return id
}

// close is Close for one who is in the session's gate.
func (s *Server) close(ctx context.Context, id string) error {
	live, ok := s.Live(id)
	if !ok {
		return nil
	}
	s.mu.Lock()
	_, mine := s.live[live.id]
	delete(s.live, live.id)
	s.mu.Unlock()
	if !mine {
		return nil
	}
	defer s.opened.Done()
	err := live.close(ctx)
	if live.editor.Closed != nil {
		live.editor.Closed()
	}
	return err
}

// Delete closes a session and moves it to the trash. An id that is not known is no error.
func (s *Server) Delete(ctx context.Context, id string) error {
	leave, err := s.gates.enter(ctx, s.known(id))
	if err != nil {
		return err
	}
	defer leave()
	if live, ok := s.Live(id); ok {
		id = live.Store().ID()
	}
	if err := s.close(ctx, id); err != nil {
		return err
	}
	err = session.Trash(s.SessionsDir(), id)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// List returns a page of the stored sessions, newest first.
func (s *Server) List(q session.Query) (session.Page, error) {
	return session.List(s.SessionsDir(), q)
}

// Shutdown closes all sessions, and waits for those that are being closed.
func (s *Server) Shutdown(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx) // what ends the process must not keep it from closing; each close is bounded
	s.mu.Lock()
	ids := make([]string, 0, len(s.live))
	for id := range s.live {
		ids = append(ids, id)
	}
	s.mu.Unlock()
	errs := make([]error, len(ids))
	var wg sync.WaitGroup
	for i, id := range ids {
		wg.Go(func() { errs[i] = s.Close(ctx, id) })
	}
	wg.Wait()
	s.opened.Wait()
	return errors.Join(errs...)
}
