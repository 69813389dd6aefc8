package model

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// maxRefusal bounds what is read of an answer that is no stream.
const maxRefusal = 64 << 10

// refusal reads why the provider did not answer.
func (m *remote) refusal(response *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxRefusal)) // what came of it is better than nothing
	e := complaintIn(body).asError(response.StatusCode)
	if location := response.Header.Get("Location"); response.StatusCode/100 == 3 && location != "" {
		e.Message, e.Hint = "it redirects elsewhere, which is not followed", "set base_url to the address it names"
	}
	if e.RetryAfter, e.told = retryAfter(response.Header, time.Now()); !e.told {
		e.RetryAfter, e.told = retryDelay(body)
	}
	if response.Header.Get("X-Should-Retry") == "false" {
		e.passing = false
	}
	return e
}

// notAStream explains an answer that succeeded and is no stream of events.
func (m *remote) notAStream(response *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
	if c := complaintIn(body); c.found {
		return c.asError(0)
	}
	return &Error{Kind: Broken, Message: "it answered with " + response.Header.Get("Content-Type") + " instead of a stream of events",
		Hint: fmt.Sprintf("check that base_url is the address of a server that speaks the %s dialect", m.endpoint.Dialect)}
}

// A complaint is an error as a provider words it.
type complaint struct {
	found    bool // there was one
	sentence string
	code     string // its type and code, "" for none
	status   int    // that its code or type stands for, 0 for none
}

// complaintIn finds the complaint in a body or an event. Providers nest it differently:
// {"error":{"message"}}, {"error":"…"}, [{"error":…}], {"message"}, {"detail"}.
func complaintIn(body []byte) complaint {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer struct {
		Error   json.RawMessage
		Message string
		Detail  json.RawMessage
	}
	if json.Unmarshal(body, &outer) != nil {
		return complaint{sentence: plain(body)}
	}
	if len(outer.Error) > 0 && string(outer.Error) != "null" {
		return complaintOf(outer.Error)
	}
	if text := textOf(outer.Detail); text != "" {
		return complaint{found: true, sentence: text}
	}
	return complaint{found: outer.Message != "", sentence: outer.Message}
}

func complaintOf(raw json.RawMessage) complaint {
	var inner struct {
		Message  string
		Type     string
		Status   json.RawMessage
		Code     json.RawMessage
		Metadata struct{ Raw json.RawMessage }
	}
	if json.Unmarshal(raw, &inner) != nil {
		return complaint{found: true, sentence: textOf(raw)}
	}
	c := complaint{found: true, sentence: inner.Message, code: inner.Type + " " + textOf(inner.Status) + " " + textOf(inner.Code)}
	if behind := textOf(inner.Metadata.Raw); behind != "" { // what the provider behind a router said
		if nested := complaintIn([]byte(behind)); nested.sentence != "" {
			c.sentence += ": " + nested.sentence
		}
	}
	if status, err := strconv.Atoi(textOf(inner.Code)); err == nil {
		c.status = status
	} else {
		c.status = statusOf(c.code)
	}
	return c
}

// statusOf returns the status that an error's name stands for, in a stream that began well.
func statusOf(name string) int {
	switch {
	case containsAny(name, "invalid_request", "INVALID_ARGUMENT"):
		return http.StatusBadRequest
	case containsAny(name, "authentication_error", "invalid_api_key", "UNAUTHENTICATED"):
		return http.StatusUnauthorized
	case containsAny(name, "permission_error", "PERMISSION_DENIED"):
		return http.StatusForbidden
	case containsAny(name, "not_found", "NOT_FOUND"):
		return http.StatusNotFound
	case containsAny(name, "rate_limit", "RESOURCE_EXHAUSTED"):
		return http.StatusTooManyRequests
	default: // overloaded_error, api_error, server_error and what a provider made up
		return http.StatusInternalServerError
	}
}

// asError makes c the answer to a request; status 0 means that it came within a stream.
func (c complaint) asError(status int) *Error {
	e := &Error{Status: status, Message: c.sentence}
	if status == 0 {
		status = c.status
	}
	if status == 0 {
		status = http.StatusInternalServerError
	}
	if strings.TrimSpace(e.Message) == "" {
		if e.Message = strings.ToLower(http.StatusText(status)); e.Message == "" {
			e.Message = "it gave no reason"
		}
	}
	e.Kind = kindOf(status, c.sentence, c.code)
	e.passing = e.Kind == RateLimited || e.Kind == Overloaded
	return e
}

// plain returns what a body that is no JSON says; a page of HTML says nothing.
func plain(body []byte) string {
	text := strings.TrimSpace(string(body))
	if strings.HasPrefix(text, "<") {
		return ""
	}
	return text
}

// textOf returns the string that raw is, or raw itself.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	if string(raw) == "null" {
		return ""
	}
	return string(raw)
}

// retryAfter reads how long h asks to wait: in milliseconds where it says so, else in seconds or as a date.
func retryAfter(h http.Header, now time.Time) (wait time.Duration, told bool) {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 && ms < 1e12 {
		return time.Duration(ms * float64(time.Millisecond)), true
	}
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds >= 0 && seconds < 1e9 {
		return time.Duration(seconds * float64(time.Second)), true
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(0, date.Sub(now)), true
	}
	return 0, false
}

// retryDelay reads how long a refusal of Google's asks to wait, which stands deep in its body.
func retryDelay(body []byte) (wait time.Duration, told bool) {
	found := regexp.MustCompile(`"retryDelay"\s*:\s*"(\d{1,6}(\.\d+)?s)"`).FindSubmatch(body)
	if found == nil {
		return 0, false
	}
	wait, err := time.ParseDuration(string(found[1]))
	return wait, err == nil
}
