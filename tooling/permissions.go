package tooling

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"nimlet/session"
)

// A PermissionsConfig says what is allowed before anybody was asked.
type PermissionsConfig struct {
	Folder     string          // the workspace that grants for a project belong to
	GrantsFile string          // where those grants are kept; "" keeps them for the session only
	Allow      []string        // keys that need no question in this process (--allow)
	Project    func() []string // keys that a trusted project allows, read at each question; nil for none
	Yolo       *atomic.Bool    // set: every call of the process runs without a question; nil is never shared
	Warn       func(string)    // hears what the person must know of stored grants; nil drops it
}

// Permissions decides which calls may run and remembers what the person granted. Its grants
// outlive turns, cancelled and failed ones too. Its methods may be called concurrently; it puts
// one question at a time, and a grant given meanwhile answers the next.
type Permissions struct {
	config PermissionsConfig
	stored grantStore
	yolo   *atomic.Bool
	asking chan struct{} // holds a token while a question is open

	mu      sync.Mutex
	granted []string // keys granted for the session, in order
}

// A Scope says how far a grant reaches.
type Scope string

// The scopes of grants.
const (
	ScopeSession  Scope = "session"  // given in this session, gone with it
	ScopeProject  Scope = "project"  // given for this folder, kept in the grants file
	ScopeFlag     Scope = "flag"     // given by --allow, gone with the process
	ScopeSettings Scope = "settings" // given by the trusted project's permissions.json
)

// A Grant lets calls with the need Key run without a question.
type Grant struct {
	Key   string
	Scope Scope
}

// ParseKey returns a key that a person wrote as needs have it, without white space around it and what
// it names. An error says that it is the key of nothing, so that a grant of it would be none.
func ParseKey(text string) (string, error) {
	kind, name, ok := strings.Cut(strings.TrimSpace(text), ":")
	name = strings.Trim(name, " \t\n")
	if !ok || name == "" || kind != "bash" && kind != "tool" {
		return "", fmt.Errorf("%q is no key: it is bash: and a whole command, or tool: and the name of a tool", text)
	}
	return kind + ":" + name, nil
}

// NewPermissions makes the permissions of one session. It reads nothing yet.
func NewPermissions(c PermissionsConfig) *Permissions {
	if c.Project == nil {
		c.Project = func() []string { return nil }
	}
	if c.Warn == nil {
		c.Warn = func(string) {}
	}
	if c.Yolo == nil {
		c.Yolo = new(atomic.Bool)
	}
	return &Permissions{
		config: c,
		stored: grantStore{path: c.GrantsFile, folder: c.Folder},
		yolo:   c.Yolo,
		asking: make(chan struct{}, 1),
	}
}

// SetYolo switches whether every call runs without a question, dangerous ones included, also for
// those who share the switch.
func (p *Permissions) SetYolo(on bool) { p.yolo.Store(on) }

// Yolo reports whether every call runs without a question.
func (p *Permissions) Yolo() bool { return p.yolo.Load() }

// Check decides whether call, with its final arguments, may run, and asks when nothing covers
// it. denied is "" when it may run, else what the model is told; it begins with
// "approval_denied: ". A nil ask means that there is nobody to ask. A question that cannot be
// put or answered denies the call; err is set only when ctx ended.
func (p *Permissions) Check(ctx context.Context, t Tool, call session.Call, ask func(context.Context, PermissionRequest) (Verdict, error)) (denied string, err error) {
	need := NeedOf(t, call)
	if need.Free || p.covers(need) {
		return "", ctx.Err()
	}
	if ask == nil {
		return nobodyToAsk(need), ctx.Err()
	}
	select {
	case p.asking <- struct{}{}:
		defer func() { <-p.asking }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if p.covers(need) { // granted by the question before this one
		return "", ctx.Err()
	}
	return p.ask(ctx, t, call, need, ask)
}

// ask puts the question and does what the answer says. The caller holds the asking token.
func (p *Permissions) ask(ctx context.Context, t Tool, call session.Call, need Need, ask func(context.Context, PermissionRequest) (Verdict, error)) (denied string, err error) {
	request := PermissionRequest{Call: call, Spec: t.Spec(), Need: need}
	if previewer, ok := t.(Previewer); ok {
		request.Diffs = previewer.Preview(ctx, call)
	}
	verdict, err := ask(ctx, request)
	allowed := err == nil && (verdict == AllowOnce || verdict == AllowSession || verdict == AllowProject)
	if allowed { // what was granted stays granted, also when the turn ended meanwhile
		p.remember(need, verdict)
	}
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return fmt.Sprintf("approval_denied: the question whether this may run got no answer (%v)", err), nil
	case !allowed:
		return "approval_denied: the user rejected this call. Do not repeat it in another form; go on without it or ask what to do.", nil
	}
	return "", nil
}

// remember keeps an answer as far as verdict and need allow.
func (p *Permissions) remember(need Need, verdict Verdict) {
	if !need.Remember || need.Key == "" || verdict == AllowOnce {
		return
	}
	p.mu.Lock()
	if !slices.Contains(p.granted, need.Key) {
		p.granted = append(p.granted, need.Key)
	}
	p.mu.Unlock()
	if verdict != AllowProject || p.config.GrantsFile == "" {
		return
	}
	warning, err := p.stored.add(need.Key)
	if err != nil {
		warning = fmt.Sprintf("the grant of %q holds for this session only: %v", need.Key, err)
	}
	if warning != "" {
		p.config.Warn(warning)
	}
}

// covers reports whether need is met without a question. What must never be remembered is
// covered by nothing but yolo.
func (p *Permissions) covers(need Need) bool {
	if p.yolo.Load() {
		return true
	}
	if !need.Remember || need.Key == "" {
		return false
	}
	return slices.ContainsFunc(p.Grants(), func(g Grant) bool { return g.Key == need.Key })
}

// Grants returns what is allowed now without a question, the stored grants as they are on disk.
func (p *Permissions) Grants() []Grant {
	p.mu.Lock()
	given := slices.Clone(p.granted)
	p.mu.Unlock()
	var grants []Grant
	add := func(scope Scope, keys []string) {
		for _, key := range keys {
			grants = append(grants, Grant{Key: key, Scope: scope})
		}
	}
	stored, warning := p.stored.load()
	if warning != "" {
		p.config.Warn(warning)
	}
	add(ScopeFlag, p.config.Allow)
	add(ScopeSettings, p.config.Project())
	add(ScopeProject, stored)
	add(ScopeSession, slices.DeleteFunc(given, func(key string) bool { return slices.Contains(stored, key) }))
	return grants
}

// Clear takes back what the person granted, for the session and for the folder. The keys of
// --allow and of the project's own file stay: nobody gave them here.
func (p *Permissions) Clear() error {
	p.mu.Lock()
	p.granted = nil
	p.mu.Unlock()
	return p.stored.clear()
}

// NeedOf returns the permission call needs: what its tool says or, of a tool that says nothing,
// a question the first time.
func NeedOf(t Tool, call session.Call) Need {
	if g, ok := t.(Guarded); ok {
		return g.Permission(call)
	}
	return Need{Key: "tool:" + call.Name, Subject: call.Name, Remember: true}
}

// nobodyToAsk is what the model is told of a call that only a person could allow.
func nobodyToAsk(need Need) string {
	if need.Remember && need.Key != "" {
		return fmt.Sprintf("approval_denied: nobody can be asked here whether this may run. "+
			"It runs if nimlet is started with --allow %q, or with --yolo, which allows everything.", need.Key)
	}
	reason := need.Reason
	if reason == "" {
		reason = "it is asked about every time"
	}
	return fmt.Sprintf("approval_denied: nobody can be asked here whether this may run, and no --allow covers it (%s). "+
		"It runs only if nimlet is started with --yolo, which allows everything.", reason)
}
