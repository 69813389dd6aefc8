// Package acp speaks the Agent Client Protocol, version 1: it decodes what an editor asks, has the
// server do it, and translates what happens into updates. Wire types are in protocol.go; nothing
// here decides what an agent does.
package acp

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"go.uber.org/zap"

	"nimlet/agent/config"
	"nimlet/server"
	"nimlet/transport"
)

// A connection is one editor. Handlers are called on the read loop, in order; what they return runs
// beside it.
type connection struct {
	ctx      context.Context // the connection's lifetime
	conn     *transport.Conn
	server   *server.Server
	settings config.ACP
	version  string
	log      *zap.Logger

	mu          sync.Mutex
	initialized bool
	caps        clientCapabilities
	client      implementation
	refused     map[string]bool    // client methods that the client does not know
	editors     map[string]*editor // by session id

	toldCannotAsk sync.Once // the person knows that permission cannot be asked for
}

// A work is what a request takes beyond the read loop; nil when nothing is left to do.
type work = func() (any, error)

// Handler returns what transport calls for each message of an editor that speaks ACP. ctx is the
// connection's lifetime.
func Handler(ctx context.Context, s *server.Server, version string, log *zap.Logger) func(*transport.Conn) transport.Handler {
	return func(conn *transport.Conn) transport.Handler {
		c := &connection{
			ctx: ctx, conn: conn, server: s, settings: s.Settings().ACP, version: version, log: log,
			refused: map[string]bool{}, editors: map[string]*editor{},
		}
		return c.handle
	}
}

// handlers is the method table. All but initialize must come after it.
var handlers = map[string]func(*connection, context.Context, json.RawMessage) work{
	methodInitialize:   (*connection).initialize,
	methodAuthenticate: beside((*connection).authenticate),
	methodNew:          beside((*connection).newSession),
	methodLoad:         beside((*connection).load),
	methodResume:       beside((*connection).resume),
	methodList:         beside((*connection).list),
	methodClose:        beside((*connection).close),
	methodDelete:       beside((*connection).delete),
	methodSetMode:      beside((*connection).setMode),
	methodSetConfig:    beside((*connection).setConfig),
	methodSteer:        beside((*connection).steer),
	methodPrompt:       (*connection).prompt,
	methodCancel:       (*connection).cancel,
}

// beside makes a handler of a method whose order among others does not matter.
func beside[P any](f func(*connection, context.Context, P) (any, error)) func(*connection, context.Context, json.RawMessage) work {
	return func(c *connection, ctx context.Context, raw json.RawMessage) work {
		return func() (any, error) {
			var params P
			if err := decode(raw, &params); err != nil {
				return nil, err
			}
			result, err := f(c, ctx, params)
			return result, rpcError(err)
		}
	}
}

func (c *connection) handle(ctx context.Context, r transport.Request) work {
	h, known := handlers[r.Method]
	switch {
	case !known && !r.IsCall:
		return nil
	case !known:
		return fail(transport.Errorf(transport.CodeMethodNotFound, "method not found: %s", r.Method))
	case r.Method != methodInitialize && !c.ready():
		return fail(transport.Errorf(transport.CodeInvalidRequest, "%s came before initialize", r.Method))
	case (r.Method == methodCancel) == r.IsCall:
		return fail(transport.Errorf(transport.CodeInvalidRequest, "%s is a %s", r.Method, kindOf(!r.IsCall)))
	}
	return h(c, ctx, r.Params)
}

func kindOf(isCall bool) string {
	if isCall {
		return "request and needs an id"
	}
	return "notification and has no id"
}

func fail(err error) work { return func() (any, error) { return nil, err } }

func (c *connection) ready() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.initialized
}

// initialize is handled in order, on the read loop, so that requests may follow it at once.
func (c *connection) initialize(_ context.Context, raw json.RawMessage) work {
	var params initializeRequest
	if err := decode(raw, &params); err != nil {
		return fail(err)
	}
	if params.ProtocolVersion == nil {
		return fail(missing("protocolVersion"))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.initialized {
		return fail(transport.Errorf(transport.CodeInvalidRequest, "initialize was already answered on this connection"))
	}
	c.initialized = true
	c.caps, c.client = params.ClientCapabilities.V, params.ClientInfo.V
	c.log.Info("editor connected", zap.String("client", c.client.Name), zap.String("client_version", c.client.Version))
	return func() (any, error) { return c.about(), nil }
}

func (c *connection) about() initializeResponse {
	return initializeResponse{
		ProtocolVersion: protocolVersion,
		AgentCapabilities: agentCapabilities{
			LoadSession:        true,
			PromptCapabilities: promptCapabilities{Image: true, EmbeddedContext: true},
		},
		AuthMethods: []authMethod{{
			ID: envAuth, Name: "API key from environment or config",
			Description: "Nothing to do here: keys are read from the environment and the configuration.",
		}},
		AgentInfo: implementation{Name: "nimlet", Title: "nimlet", Version: c.version},
	}
}

const envAuth = "env"

func (c *connection) authenticate(_ context.Context, p authenticateRequest) (any, error) {
	if p.MethodID == nil {
		return nil, missing("methodId")
	}
	if *p.MethodID != envAuth {
		return nil, invalid("methodId", "there is no method %q; the only one is %q", *p.MethodID, envAuth)
	}
	return empty{}, nil
}

// call asks the client something, and remembers for the connection that it cannot be asked.
func (c *connection) call(ctx context.Context, method string, params, result any) error {
	if !c.canCall(method) {
		return errCannot
	}
	err := c.conn.Call(ctx, method, params, result)
	if refuses(method, err) {
		c.mu.Lock()
		c.refused[method] = true
		c.mu.Unlock()
		return errCannot
	}
	return err
}

// refuses reports whether err says that the client does not know method. Forms differ in what they
// may hold, so a client that takes ours for invalid has none for us.
func refuses(method string, err error) bool {
	var rpc *transport.Error
	if !errors.As(err, &rpc) {
		return false
	}
	return rpc.Code == transport.CodeMethodNotFound || method == methodElicitation && rpc.Code == transport.CodeInvalidParams
}

func (c *connection) canCall(method string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.refused[method]
}

// errCannot says that the client does not know a method.
var errCannot = errors.New("the editor cannot be asked this")

// update sends one session/update. A connection that is gone is no error here: its end cancels
// everything anyway.
func (c *connection) update(session string, u any) {
	err := c.conn.Notify(c.ctx, methodUpdate, sessionNotification{SessionID: session, Update: u})
	if err != nil {
		c.log.Debug("an update was not sent", zap.Error(err))
	}
}
