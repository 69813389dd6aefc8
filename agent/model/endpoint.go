package model

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"nimlet/session"
)

// A Dialect is the wire format an endpoint speaks.
type Dialect string

// The two dialects.
const (
	Anthropic Dialect = "anthropic" // Messages
	OpenAI    Dialect = "openai"    // Chat Completions, which most others speak too
)

// defaultSilence is long, as a local model may read a long prompt for minutes before its first word.
const defaultSilence = 5 * time.Minute

// An Endpoint is where a provider's models are reached, and how.
type Endpoint struct {
	Name    string // the provider's, for people; it also marks the thinking that is sent back to it alone
	Dialect Dialect
	BaseURL string            // what the paths of the dialect are put behind; a query is kept
	Key     string            // "" sends none
	KeyHint string            // what to do about a missing or wrong key: "set ANTHROPIC_API_KEY"
	Headers map[string]string // set last, so they win over ours
	Options map[string]any    // native fields merged into the request body; null takes a field out of it
	Timeout time.Duration     // of silence on the line; 0 means five minutes
	Client  *http.Client      // nil means one with the proxies and certificates of the environment
}

// New returns the model modelID at e. It asks nothing yet: what is wrong with e shows in the first
// answer, as an *Error.
func New(e Endpoint, modelID string, a Abilities) Model {
	e.Key = strings.TrimSpace(e.Key)
	if e.Timeout <= 0 {
		e.Timeout = defaultSilence
	}
	client := http.Client{}
	if e.Client != nil {
		client = *e.Client
	}
	// A redirect would carry the key, and the conversation, to where the user never sent them.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &remote{endpoint: e, id: modelID, abilities: a, client: &client, backoff: firstBackoff}
}

// A remote is a model behind an HTTP endpoint. It keeps no conversation: each request says all.
type remote struct {
	endpoint  Endpoint
	id        string
	abilities Abilities
	client    *http.Client
	backoff   time.Duration // before the second attempt, when the provider names no time

	// noEffort is set once the provider has refused to reason beside tools (see effort.go).
	noEffort atomic.Bool
}

func (m *remote) Stream(ctx context.Context, r Request) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) { m.attempts(ctx, r, yield) }
}

// A wire is what the two dialects do differently.
type wire interface {
	path() string
	authorize(h http.Header, key string)
	// body returns the request's fields.
	body(r Request) map[string]any
	// read turns the events of one answer into chunks, in the order that Model promises.
	read(events iter.Seq2[string, error], out *output) error
}

func (m *remote) wire() wire {
	if m.endpoint.Dialect == Anthropic {
		return anthropicWire{m}
	}
	return openaiWire{m}
}

// url returns the address of path, which begins behind the version: a base that names none
// gets "/v1", as people give both forms.
func (e Endpoint) url(path string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(e.BaseURL))
	if err != nil {
		return "", &Error{Provider: e.Name, Kind: BadRequest, Message: "its base URL is no URL",
			Hint: "correct base_url: it looks like https://host/v1"}
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", &Error{Provider: e.Name, Kind: BadRequest, Message: "its base URL is not an http address",
			Hint: "correct base_url: it looks like https://host/v1"}
	}
	base := strings.TrimRight(u.Path, "/")
	if base == "" || e.Dialect == Anthropic && !strings.HasSuffix(base, "/v1") {
		base += "/v1"
	}
	u.Path, u.RawPath = base+path, ""
	return u.String(), nil
}

// knownIDs returns the ids of all calls in messages.
func knownIDs(messages []session.Message) map[string]bool {
	ids := map[string]bool{}
	for _, m := range messages {
		for _, p := range m.Content {
			if use, ok := p.(session.ToolUse); ok {
				ids[use.ID] = true
			}
		}
	}
	return ids
}
