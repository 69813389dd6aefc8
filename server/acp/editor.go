package acp

import (
	"context"
	"sync"
	"time"

	"nimlet/agent"
	"nimlet/server"
)

// An editor is one session as this connection shows it.
type editor struct {
	*Updates
	c *connection

	mu sync.Mutex
	id string // under which the session is spoken of
}

// attach makes the server's side of a session's editor.
func (c *connection) attach(id string) server.Editor {
	e := &editor{c: c, id: id}
	e.Updates = newUpdates(e.update, c.updateLimit(), c.caps.Session.V.Notices.V != nil, c.caps.Meta.V.TerminalOutput.V)
	e.options = func() []configOption {
		if live, ok := c.server.Live(id); ok {
			return configOptions(live)
		}
		return nil
	}
	c.mu.Lock()
	c.editors[id] = e
	c.mu.Unlock()
	ed := server.Editor{
		Emit:          e.Emit,
		Commands:      e.commands,
		Begin:         e.begin,
		Closed:        func() { c.detach(id, e) },
		Ask:           e.ask,
		AskPermission: e.askPermission,
		Hides:         []string{"resume"}, // the client has a list of its own
	}
	if c.caps.Elicitation.V.Form.V != nil {
		ed.AskTrust = e.elicit
	}
	if c.caps.FS.V.ReadTextFile.V {
		ed.Buffers = newBuffers(e)
	}
	return ed
}

func (c *connection) detach(id string, e *editor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.editors[id] == e {
		delete(c.editors, id)
	}
}

// editor returns the editor of a live session, nil when that has just been closed.
func (c *connection) editor(id string) *editor {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.editors[id]
}

// speakAs has the session spoken of by the id the client used last: after /new it has two.
func (e *editor) speakAs(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.id = id
}

func (e *editor) sessionID() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.id
}

func (e *editor) update(u any) { e.c.update(e.sessionID(), u) }

// Some clients queue what they are sent and give up on a queue that is too long, so a replay stops
// for a moment every so often (ACP, "line limits").
const (
	replayBurst = 256
	replayPause = time.Millisecond
)

// replay shows a stored conversation.
func (e *editor) replay(ctx context.Context, live *server.Session) {
	shown := 0
	live.Replay(ctx, func(event agent.Event) {
		e.Emit(event)
		if shown++; shown%replayBurst == 0 {
			time.Sleep(replayPause)
		}
	})
}
