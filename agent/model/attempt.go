package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// The rules of asking again are: a request is sent four times at most; only for what may pass by
// itself (too many requests, a server's fault, a dropped connection); only while nothing of the
// answer was given away, so that no text comes twice and no call runs twice; after the wait that
// the provider asks for, or else one that doubles. A longer wait is for the person to decide.
const (
	maxAttempts  = 4
	firstBackoff = 500 * time.Millisecond
	longestWait  = time.Minute
)

// attempts sends r until an answer begins.
func (m *remote) attempts(ctx context.Context, r Request, yield func(Chunk, error) bool) {
	out := &output{yield: yield, ids: knownIDs(r.Messages)}
	for attempt := 1; ; attempt++ {
		err := m.attempt(ctx, r, out)
		if out.stopped || err == nil {
			return
		}
		if ctx.Err() != nil {
			yield(nil, ctx.Err())
			return
		}
		failure := m.explain(err)
		wait, again := m.retry(failure, attempt)
		if m.dropEffort(r, failure) {
			wait, again = 0, true
		}
		if out.begun || !again {
			yield(nil, failure)
			return
		}
		out.reset()
		if !yield(Retrying{Attempt: attempt + 1, Wait: wait, Err: failure}, nil) {
			return
		}
		if err := pause(ctx, wait); err != nil {
			yield(nil, err)
			return
		}
	}
}

// retry returns whether what failed at attempt may be sent again, and after which wait.
func (m *remote) retry(e *Error, attempt int) (wait time.Duration, again bool) {
	if attempt >= maxAttempts || !e.passing {
		return 0, false
	}
	if e.told {
		return e.RetryAfter, e.RetryAfter <= longestWait
	}
	wait = m.backoff << (attempt - 1)
	return wait + rand.N(wait/4+1), true // so that many who failed together do not come back together
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// errSilent ends an attempt that heard nothing for the endpoint's time-out.
var errSilent = errors.New("silence")

// attempt sends r once and passes the answer to out.
func (m *remote) attempt(ctx context.Context, r Request, out *output) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(m.endpoint.Timeout, func() { cancel(errSilent) })
	defer silence.Stop()

	request, err := m.request(ctx, r)
	if err != nil {
		return err
	}
	response, err := m.client.Do(request)
	if err != nil {
		return causeOf(ctx, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return m.refusal(response)
	}
	if kind := response.Header.Get("Content-Type"); strings.HasPrefix(kind, "application/json") || strings.HasPrefix(kind, "text/html") {
		return m.notAStream(response)
	}
	silence.Stop()
	body := &heard{from: response.Body, silence: silence, timeout: m.endpoint.Timeout}
	if err := m.wire().read(events(body), out); err != nil {
		return causeOf(ctx, err)
	}
	drain(response.Body, cancel)
	return nil
}

// drain reads what follows the end of an answer, so that the connection can serve the next request:
// a new one costs several round trips. A provider that keeps the line open has it closed instead.
func drain(body io.Reader, cancel context.CancelCauseFunc) {
	const most, patience = 4 << 10, 20 * time.Millisecond
	stop := time.AfterFunc(patience, func() { cancel(nil) })
	defer stop.Stop()
	_, _ = io.CopyN(io.Discard, body, most) // the answer is whole, whatever comes now
}

// causeOf returns why ctx ended, when that is what made err.
func causeOf(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		return errSilent
	}
	return err
}

// heard times each read: a silence ends with any byte, a comment's too. The time that whoever reads
// takes for what came is no silence.
type heard struct {
	from    io.Reader
	silence *time.Timer
	timeout time.Duration
}

func (h *heard) Read(p []byte) (int, error) {
	h.silence.Reset(h.timeout)
	defer h.silence.Stop()
	return h.from.Read(p)
}

func (m *remote) request(ctx context.Context, r Request) (*http.Request, error) {
	wire := m.wire()
	address, err := m.endpoint.url(wire.path())
	if err != nil {
		return nil, err
	}
	body, err := m.encode(wire.body(r))
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	h := request.Header
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "text/event-stream")
	h.Set("Accept-Encoding", "identity") // a compressed stream comes in lumps
	h.Set("User-Agent", "nimlet")
	wire.authorize(h, m.endpoint.Key)
	for name, value := range m.endpoint.Headers {
		h.Set(name, strings.TrimSpace(value))
	}
	return request, nil
}

// encode writes the body the same way each time, object keys in order: what a provider caches is
// found by its bytes.
func (m *remote) encode(body map[string]any) ([]byte, error) {
	merge(body, m.endpoint.Options)
	body["model"], body["stream"] = m.id, true
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false) // code is full of < and &, each of which would cost six bytes
	if err := encoder.Encode(body); err != nil {
		return nil, &Error{Kind: BadRequest, Message: "the request does not encode: " + err.Error(),
			Hint: "check the options of the provider", cause: err}
	}
	return buffer.Bytes(), nil
}

// merge puts options over body, objects field by field. The conversation itself is not an option.
func merge(body, options map[string]any) {
	for name, value := range options {
		if name == "messages" {
			continue
		}
		have, isObject := body[name].(map[string]any)
		object, both := value.(map[string]any)
		switch {
		case value == nil:
			delete(body, name)
		case isObject && both:
			fields := map[string]any{}
			merge(fields, have)
			merge(fields, object)
			body[name] = fields
		default:
			body[name] = value
		}
	}
}
