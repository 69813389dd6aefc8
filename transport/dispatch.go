package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"

	"go.lsp.dev/jsonrpc2"
	"go.uber.org/zap"
)

// The methods by which either side takes a request back.
const (
	cancelACP = "$/cancel_request"
	cancelLSP = "$/cancelRequest"
)

// dispatch is what the library calls for each request, on the read loop. First the request is
// registered and the handler called, then jsonrpc2.Async lets the loop read on while run goes on here;
// the other way round, a cancel could be read before the request that it names is known.
func (c *Conn) dispatch(async context.Context, r *jsonrpc2.Request) (any, error) {
	req := Request{Method: strings.Clone(r.Method()), Params: bytes.Clone(r.Params()), IsCall: r.IsCall()}
	if !req.IsCall && strings.HasPrefix(req.Method, "$/") {
		c.cancelRequest(req)
		return nil, nil
	}
	c.runs.add()
	defer c.runs.done()
	if !req.IsCall {
		c.notified(async, req)
		return nil, nil // an error would end the connection
	}
	c.owed.add()
	return c.called(async, r.ID(), req)
}

func (c *Conn) notified(async context.Context, req Request) {
	run, err := c.start(c.ctx, req)
	if run != nil {
		jsonrpc2.Async(async)
		_, err = c.guard(req.Method, run)
	}
	if err != nil {
		c.log.Warn("handling a notification", zap.String("method", req.Method), zap.Error(err))
	}
}

func (c *Conn) called(async context.Context, id jsonrpc2.ID, req Request) (any, error) {
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	if !c.register(id, call{req.Method, cancel}) {
		jsonrpc2.Async(async)
		return nil, jsonrpc2.Errorf(CodeInvalidRequest, "a call with id %s is still in progress", id)
	}
	defer c.unregister(id) // before the answer goes out, for then the peer may use the id again
	run, err := c.start(ctx, req)
	jsonrpc2.Async(async)
	if run == nil && err == nil {
		err = Errorf(CodeMethodNotFound, "method %q is not known", req.Method)
	}
	if err != nil {
		return nil, wireError(ctx, err)
	}
	value, err := c.guard(req.Method, run)
	if err != nil {
		return nil, wireError(ctx, err)
	}
	reply, ok := value.(Reply)
	if !ok {
		reply.Result = value
	}
	raw, err := encode(reply.Result)
	if err != nil {
		return nil, jsonrpc2.Errorf(CodeInternal, "encoding the answer to %s: %v", req.Method, err)
	}
	if reply.After != nil {
		c.later(async, reply.After)
	}
	return raw, nil
}

// start calls the handler, and makes it first if the dialect has just become known.
func (c *Conn) start(ctx context.Context, req Request) (run func() (any, error), err error) {
	_, err = c.guard(req.Method, func() (any, error) {
		if c.handle == nil {
			c.handle = c.newHandler(c)
		}
		run = c.handle(ctx, req)
		return nil, nil
	})
	return run, err
}

// guard turns a panic into an error. The stack is for the log alone.
func (c *Conn) guard(method string, f func() (any, error)) (v any, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("panic", zap.String("method", method), zap.Any("value", p), zap.ByteString("stack", debug.Stack()))
			err = Errorf(CodeInternal, "internal error in %s; the log tells more", method)
		}
	}()
	return f()
}

func (c *Conn) register(id jsonrpc2.ID, a call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, taken := c.active[id]; taken {
		return false
	}
	c.active[id] = a
	return true
}

func (c *Conn) unregister(id jsonrpc2.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.active, id)
}

// cancelRequest handles the notifications of the protocol itself. What is malformed, or names a
// request that is not in progress, needs no reaction: a cancel that crosses its answer is no mistake.
func (c *Conn) cancelRequest(req Request) {
	var params struct {
		RequestID json.RawMessage `json:"requestId"`
		ID        json.RawMessage `json:"id"`
	}
	if json.Unmarshal(req.Params, &params) != nil {
		return
	}
	raw := params.ID
	if req.Method == cancelACP {
		raw = params.RequestID
	} else if req.Method != cancelLSP {
		return
	}
	id, _ := parseID(raw)
	c.mu.Lock()
	a, ok := c.active[id]
	c.mu.Unlock()
	if ok {
		a.cancel()
	}
}

// cancelNotice is what tells a peer that nobody waits for the answer to id any more.
func cancelNotice(d Dialect, id jsonrpc2.ID) (method string, params any) {
	number, _ := id.Number() // the library numbers its calls
	if d == LSP {
		return cancelLSP, json.RawMessage(fmt.Sprintf(`{"id":%d}`, number))
	}
	return cancelACP, json.RawMessage(fmt.Sprintf(`{"requestId":%d}`, number))
}
