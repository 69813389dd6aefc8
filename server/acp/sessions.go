package acp

import (
	"context"
	"path/filepath"
	"time"

	"nimlet/agent"
	"nimlet/server"
	"nimlet/session"
	"nimlet/transport"
)

func (c *connection) newSession(_ context.Context, p openRequest) (any, error) {
	place, err := p.place()
	if err != nil {
		return nil, err
	}
	live, err := c.server.Create(place, c.attach)
	if err != nil {
		return nil, err
	}
	return c.opened(live, c.editor(live.ID()), p, live.ID()), nil
}

// load opens a session and shows all of it before it answers.
func (c *connection) load(ctx context.Context, p openRequest) (any, error) {
	live, e, err := c.open(ctx, p)
	if err != nil {
		return nil, err
	}
	e.replay(ctx, live)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return c.opened(live, e, p, ""), nil
}

// resume opens a session that the editor already shows.
func (c *connection) resume(ctx context.Context, p openRequest) (any, error) {
	live, e, err := c.open(ctx, p)
	if err != nil {
		return nil, err
	}
	return c.opened(live, e, p, ""), nil
}

func (c *connection) open(ctx context.Context, p openRequest) (*server.Session, *editor, error) {
	if p.SessionID == nil {
		return nil, nil, missing("sessionId")
	}
	place, err := p.place()
	if err != nil {
		return nil, nil, err
	}
	live, err := c.server.Open(ctx, *p.SessionID, place, c.attach)
	if err != nil {
		return nil, nil, err
	}
	e := c.editor(live.ID())
	if e == nil {
		return nil, nil, server.ErrClosed
	}
	e.speakAs(*p.SessionID)
	return live, e, nil
}

// place checks where a session is to work. Folders are absolute, as the schema asks.
func (p openRequest) place() (server.Place, error) {
	if p.Cwd == nil {
		return server.Place{}, missing("cwd")
	}
	place := server.Place{Dir: *p.Cwd, More: p.AdditionalDirectories.V}
	if !filepath.IsAbs(place.Dir) {
		return place, invalid("cwd", "must be an absolute path, not %q", place.Dir)
	}
	for _, dir := range place.More {
		if !filepath.IsAbs(dir) {
			return place, invalid("additionalDirectories", "must be absolute paths, not %q", dir)
		}
	}
	return place, nil
}

// opened is the answer to opening a session, followed by what may only come after it: the
// commands. Updates of a session that the editor does not know yet stall some editors.
func (c *connection) opened(live *server.Session, e *editor, p openRequest, id string) transport.Reply {
	if len(p.MCPServers) > 0 {
		live.Note(agent.Warning, "MCP servers are not supported yet: the editor's were left out.")
	}
	return transport.Reply{
		Result: openResponse{SessionID: id, Modes: modes(live.Mode()), ConfigOptions: configOptions(live)},
		After:  func() { e.commands(live.Commands()) },
	}
}

const pageSize = 50

func (c *connection) list(_ context.Context, p listRequest) (any, error) {
	q := session.Query{Limit: pageSize}
	if p.Cwd.V != nil {
		q.Workspace = *p.Cwd.V
	}
	if p.Cursor.V != nil {
		q.Cursor = *p.Cursor.V
	}
	page, err := c.server.List(q)
	if err != nil {
		return nil, err
	}
	result := listResponse{Sessions: make([]sessionInfo, len(page.Sessions)), NextCursor: page.Next}
	for i, s := range page.Sessions {
		result.Sessions[i] = sessionInfo{
			SessionID: s.ID, Cwd: s.Workspace, AdditionalDirectories: s.Directories,
			Title: s.Title, UpdatedAt: s.Updated.UTC().Format(time.RFC3339),
		}
	}
	return result, nil
}

func (c *connection) close(ctx context.Context, p sessionRequest) (any, error) {
	return c.end(ctx, p, c.server.Close)
}

func (c *connection) delete(ctx context.Context, p sessionRequest) (any, error) {
	return c.end(ctx, p, c.server.Delete)
}

func (c *connection) end(ctx context.Context, p sessionRequest, end func(context.Context, string) error) (any, error) {
	if p.SessionID == nil {
		return nil, missing("sessionId")
	}
	if err := end(ctx, *p.SessionID); err != nil {
		return nil, err
	}
	return empty{}, nil
}

// live returns the session a request is about.
func (c *connection) live(id *string) (*server.Session, error) {
	if id == nil {
		return nil, missing("sessionId")
	}
	live, ok := c.server.Live(*id)
	if !ok {
		return nil, transport.Errorf(codeNotFound, "session %s is not open: open it with session/load or session/resume", *id)
	}
	return live, nil
}
