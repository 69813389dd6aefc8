// Package acptest is an editor for tests. It speaks ACP to an agent at the other end of two
// streams, answers what the agent asks, keeps all updates, and fails the test on any message that
// the stable schema does not allow.
//
//	e := acptest.Connect(t, stdin, stdout)
//	e.Initialize(`{}`)
//	id := e.New(dir)
//	e.On("session/request_permission", acptest.Choose("allow_once"))
//	turn := e.Prompt(id, "bash sleep 30")
//	e.Await(acptest.Status("in_progress"))
//	e.Cancel(id)
//	turn.Wait("cancelled")
package acptest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"
)

// patience bounds every wait; what it cuts off is a hang.
const patience = time.Minute

// An RPCError is an error response.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func (e *RPCError) Error() string { return fmt.Sprintf("%d %s", e.Code, e.Message) }

// An Answer is what the editor replies to a request of the agent: a result or an error.
type Answer struct {
	Result any
	Err    *RPCError
}

// An Update is one session/update.
type Update struct {
	SessionID string
	Kind      string // its sessionUpdate
	Body      map[string]any
	Line      int // bytes of the line it came on
}

// Text returns the text of a chunk, "" for any other update.
func (u Update) Text() string {
	content, _ := u.Body["content"].(map[string]any)
	text, _ := content["text"].(string)
	return text
}

// String returns a field of the update's body, "" when it is no string.
func (u Update) String(field string) string {
	s, _ := u.Body[field].(string)
	return s
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *RPCError       `json:"error"`
}

// An Editor is one connection to an agent.
type Editor struct {
	t      testing.TB
	schema *schema
	ended  chan struct{} // closed when the agent's output has ended

	writing sync.Mutex
	out     io.Writer

	mu       sync.Mutex
	changed  *sync.Cond // on mu: something arrived
	nextID   int
	pending  map[string]*Call
	updates  []Update
	handlers map[string]func(json.RawMessage) *Answer
	notes    []string // notifications other than updates
}

// Connect starts an Editor that writes to the agent's input and reads its output until that ends.
func Connect(t testing.TB, in io.Writer, out io.Reader) *Editor {
	t.Helper()
	s, err := loadSchema()
	if err != nil {
		t.Fatal(err)
	}
	e := &Editor{
		t: t, schema: s, out: in, ended: make(chan struct{}),
		pending: map[string]*Call{}, handlers: map[string]func(json.RawMessage) *Answer{},
	}
	e.changed = sync.NewCond(&e.mu)
	go e.read(bufio.NewReaderSize(out, 1<<20))
	return e
}

// On has requests of the agent answered by f; a nil Answer leaves one unanswered. Requests of a
// method without an On are answered with -32601.
func (e *Editor) On(method string, f func(params json.RawMessage) *Answer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.handlers[method] = f
}

// Choose answers a permission request with an option.
func Choose(optionID string) func(json.RawMessage) *Answer {
	return func(json.RawMessage) *Answer {
		return &Answer{Result: map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": optionID}}}
	}
}

func (e *Editor) read(r *bufio.Reader) {
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		close(e.ended)
		e.changed.Broadcast()
	}()
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 1 {
			e.accept(line)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
				e.t.Logf("reading from the agent: %v", err)
			}
			return
		}
	}
}

func (e *Editor) accept(line []byte) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		e.t.Errorf("the agent wrote what is no message: %v: %.300s", err, line)
		return
	}
	switch {
	case m.Method != "" && m.ID != nil:
		e.acceptRequest(m)
	case m.Method != "":
		e.acceptNotification(m, len(line))
	default:
		e.acceptResponse(m)
	}
}

func (e *Editor) acceptRequest(m message) {
	e.validate(m.Method, "Request", m.Params)
	e.mu.Lock()
	f := e.handlers[m.Method]
	e.mu.Unlock()
	if f == nil {
		e.send(map[string]any{"id": m.ID, "error": RPCError{Code: -32601, Message: "method not found"}})
		return
	}
	go func() {
		switch a := f(m.Params); {
		case a == nil:
		case a.Err != nil:
			e.send(map[string]any{"id": m.ID, "error": a.Err})
		default:
			e.send(map[string]any{"id": m.ID, "result": a.Result})
		}
	}()
}

func (e *Editor) acceptNotification(m message, length int) {
	e.validate(m.Method, "Notification", m.Params)
	e.mu.Lock()
	defer e.mu.Unlock()
	defer e.changed.Broadcast()
	if m.Method != "session/update" {
		e.notes = append(e.notes, m.Method+" "+string(m.Params))
		return
	}
	var p struct {
		SessionID string         `json:"sessionId"`
		Update    map[string]any `json:"update"`
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		e.t.Errorf("session/update: %v", err)
	}
	kind, _ := p.Update["sessionUpdate"].(string)
	e.updates = append(e.updates, Update{p.SessionID, kind, p.Update, length})
}

func (e *Editor) acceptResponse(m message) {
	e.mu.Lock()
	c, ok := e.pending[string(m.ID)]
	delete(e.pending, string(m.ID))
	e.mu.Unlock()
	if !ok {
		if m.Error == nil || string(m.ID) != "null" {
			e.t.Errorf("an answer nobody waits for, or a second one: id %s", m.ID)
		}
		return
	}
	if m.Error == nil {
		e.validate(c.method, "Response", m.Result)
	}
	c.result, c.err = m.Result, m.Error
	e.mu.Lock()
	defer e.mu.Unlock()
	c.seen = len(e.updates)
	close(c.done)
	e.changed.Broadcast()
}

func (e *Editor) validate(method, suffix string, body json.RawMessage) {
	if err := e.schema.check(method, suffix, body); err != nil {
		e.t.Errorf("%s breaks the schema: %v\n%.2000s", method, err, body)
	}
}

// Raw writes bytes as they are.
func (e *Editor) Raw(data string) {
	e.writing.Lock()
	defer e.writing.Unlock()
	if _, err := io.WriteString(e.out, data); err != nil {
		e.t.Logf("writing to the agent: %v", err)
	}
}

func (e *Editor) send(m map[string]any) {
	m["jsonrpc"] = "2.0"
	line, err := json.Marshal(m)
	if err != nil {
		e.t.Errorf("encoding a message: %v", err)
		return
	}
	e.Raw(string(line) + "\n")
}

// Notify sends a notification.
func (e *Editor) Notify(method string, params any) {
	e.send(map[string]any{"method": method, "params": params})
}

// A Call is a request on its way.
type Call struct {
	ID     int
	e      *Editor
	method string
	done   chan struct{}
	result json.RawMessage
	err    *RPCError
	seen   int // how many updates had come when the answer did
}

// Go sends a request and does not wait.
func (e *Editor) Go(method string, params any) *Call {
	e.mu.Lock()
	c := &Call{ID: e.nextID, e: e, method: method, done: make(chan struct{})}
	e.nextID++
	e.pending[fmt.Sprint(c.ID)] = c
	e.mu.Unlock()
	e.send(map[string]any{"id": c.ID, "method": method, "params": params})
	return c
}

// Answer waits for the response.
func (c *Call) Answer() (json.RawMessage, *RPCError) {
	c.e.t.Helper()
	select {
	case <-c.done:
	case <-c.e.ended:
		select {
		case <-c.done:
		default:
			c.e.t.Fatalf("the agent ended without an answer to %s", c.method)
		}
	case <-time.After(patience):
		c.e.t.Fatalf("no answer to %s within %v", c.method, patience)
	}
	return c.result, c.err
}

// NextID is the id that the next request will have.
func (e *Editor) NextID() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.nextID
}

// Seen returns how many updates of a session had come when the answer did. The call must have been
// answered.
func (c *Call) Seen(id string) int {
	<-c.done
	c.e.mu.Lock()
	defer c.e.mu.Unlock()
	n := 0
	for _, u := range c.e.updates[:c.seen] {
		if id == "" || u.SessionID == id {
			n++
		}
	}
	return n
}

// AwaitUpdates waits until a session has been told of n updates, or the call is answered.
func (e *Editor) AwaitUpdates(id string, n int, c *Call) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(e.updatesLocked(id)) < n {
		select {
		case <-c.done:
			return
		case <-e.ended:
			return
		default:
		}
		e.changed.Wait()
	}
}

// Call sends a request and waits for its result, which is decoded into result unless that is nil.
// An error response fails the test.
func (e *Editor) Call(method string, params, result any) {
	e.t.Helper()
	raw, rpc := e.Go(method, params).Answer()
	if rpc != nil {
		e.t.Fatalf("%s: %v", method, rpc)
	}
	if result != nil {
		if err := json.Unmarshal(raw, result); err != nil {
			e.t.Fatalf("%s: %v", method, err)
		}
	}
}

// Fail sends a request and returns the error it is answered with. A result fails the test.
func (e *Editor) Fail(method string, params any) *RPCError {
	e.t.Helper()
	raw, rpc := e.Go(method, params).Answer()
	if rpc == nil {
		e.t.Fatalf("%s was answered with %s, want an error", method, raw)
	}
	return rpc
}

// Initialize opens the connection with these client capabilities, as JSON.
func (e *Editor) Initialize(capabilities string) {
	e.t.Helper()
	e.Call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": json.RawMessage(capabilities)}, nil)
}

// New opens a session and returns its id.
func (e *Editor) New(dir string) string {
	e.t.Helper()
	var r struct{ SessionID string }
	e.Call("session/new", map[string]any{"cwd": dir, "mcpServers": []any{}}, &r)
	return r.SessionID
}

// Load opens a stored session with a full replay.
func (e *Editor) Load(id, dir string) {
	e.t.Helper()
	e.Call("session/load", map[string]any{"sessionId": id, "cwd": dir, "mcpServers": []any{}}, nil)
}

// Prompt sends a text and does not wait.
func (e *Editor) Prompt(id, text string) *Call {
	return e.Go("session/prompt", map[string]any{"sessionId": id, "prompt": []any{map[string]any{"type": "text", "text": text}}})
}

// Say sends a text and waits until it has been answered with end_turn. It returns the updates of
// the session that came meanwhile.
func (e *Editor) Say(id, text string) []Update {
	e.t.Helper()
	start := len(e.Updates(id))
	e.Prompt(id, text).Wait("end_turn")
	return e.Updates(id)[start:]
}

// Wait waits for a prompt's answer and checks its stop reason.
func (c *Call) Wait(stopReason string) {
	c.e.t.Helper()
	raw, rpc := c.Answer()
	if rpc != nil {
		c.e.t.Fatalf("%s: %v; want stop reason %s", c.method, rpc, stopReason)
	}
	var r struct{ StopReason string }
	if err := json.Unmarshal(raw, &r); err != nil || r.StopReason != stopReason {
		c.e.t.Fatalf("%s answered %s, want stop reason %s", c.method, raw, stopReason)
	}
}

// Cancel sends session/cancel.
func (e *Editor) Cancel(id string) { e.Notify("session/cancel", map[string]any{"sessionId": id}) }

// Updates returns what a session has been told so far; of all sessions when id is "".
func (e *Editor) Updates(id string) []Update {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.updatesLocked(id)
}

func (e *Editor) updatesLocked(id string) []Update {
	var list []Update
	for _, u := range e.updates {
		if id == "" || u.SessionID == id {
			list = append(list, u)
		}
	}
	return list
}

// Await waits until an update that satisfies ok has come, and returns the first one.
func (e *Editor) Await(ok func(Update) bool) Update {
	e.t.Helper()
	timeout := time.AfterFunc(patience, e.changed.Broadcast)
	defer timeout.Stop()
	deadline := time.Now().Add(patience)
	e.mu.Lock()
	defer e.mu.Unlock()
	for {
		for _, u := range e.updates {
			if ok(u) {
				return u
			}
		}
		select {
		case <-e.ended:
			e.t.Fatal("the agent ended before the update that was awaited")
		default:
		}
		if time.Now().After(deadline) {
			e.t.Fatalf("the awaited update did not come within %v", patience)
		}
		e.changed.Wait()
	}
}

// Status accepts an update of a tool call with that status.
func Status(status string) func(Update) bool {
	return func(u Update) bool { return u.String("status") == status }
}

// Text joins the texts of all chunks of a kind.
func Text(updates []Update, kind string) string {
	text := ""
	for _, u := range updates {
		if u.Kind == kind {
			text += u.Text()
		}
	}
	return text
}

// Ended is closed when the agent's output has ended.
func (e *Editor) Ended() <-chan struct{} { return e.ended }

// Notes returns the notifications other than session/update, as "method params".
func (e *Editor) Notes() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.notes...)
}
