package model

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// A Kind is what sort of failure an Error is.
type Kind string

// The kinds. What is not said of each is in the provider's sentence.
const (
	Auth        Kind = "auth"         // no key, a wrong one, or one without the right
	Quota       Kind = "quota"        // the account's money or allowance is used up
	RateLimited Kind = "rate_limited" // too many requests for now
	Overloaded  Kind = "overloaded"   // a fault of the server's, which may pass
	TooLong     Kind = "too_long"     // the conversation exceeds the context window
	NotFound    Kind = "not_found"    // no such model, or no such address
	BadRequest  Kind = "bad_request"  // the provider does not take the request as it is
	Refused     Kind = "refused"      // the provider's policy forbids it
	Network     Kind = "network"      // the provider was not reached, or hung up
	Timeout     Kind = "timeout"      // it fell silent
	Broken      Kind = "broken"       // the answer was cut short or is not in the dialect
	Empty       Kind = "empty"        // the answer said nothing
)

// An Error is why a model gave no answer, or not a whole one. No field holds a key: where a
// provider repeats one, it is taken out.
type Error struct {
	Provider   string
	Model      string
	Status     int // of HTTP; 0 when there was none, or it was 200
	Kind       Kind
	Message    string        // the provider's own sentence where it said one, one line
	Hint       string        // what to do; may be ""
	RetryAfter time.Duration // when the provider asked to be left alone that long

	told    bool // RetryAfter was given, though it may be 0
	passing bool // may be gone when asked again
	cause   error
}

// Error says in one sentence what was asked, what the provider said and what to do.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("asking " + e.Provider)
	if e.Model != "" {
		b.WriteString(" for " + e.Model)
	}
	b.WriteString(": " + strings.TrimRight(e.Message, ". "))
	if e.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.cause }

// explain turns whatever ended an attempt into an Error that can be shown.
func (m *remote) explain(err error) *Error {
	e := m.classify(err)
	e.Provider, e.Model = m.endpoint.Name, m.id
	e.Message = m.endpoint.redact(oneLine(e.Message))
	if e.Hint == "" {
		e.Hint = m.hint(e)
	}
	return e
}

func (m *remote) classify(err error) *Error {
	var known *Error
	var certificate *tls.CertificateVerificationError
	var network net.Error
	switch {
	case errors.As(err, &known):
		e := *known
		return &e
	case errors.Is(err, errSilent):
		return &Error{Kind: Timeout, Message: fmt.Sprintf("it sent nothing for %s", m.endpoint.Timeout)}
	case errors.As(err, &certificate):
		return &Error{Kind: Network, Message: inner(err).Error(),
			Hint: "if a proxy of yours signs for it, name its certificates in SSL_CERT_FILE"}
	case errors.Is(err, bufio.ErrTooLong):
		return &Error{Kind: Broken, Message: fmt.Sprintf("it sent a single event of more than %d MB", maxEvent>>20)}
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return &Error{Kind: Broken, Message: "the connection was cut before the answer was complete", passing: true, cause: err}
	case errors.As(err, &network) && network.Timeout():
		return &Error{Kind: Timeout, Message: inner(err).Error(), passing: true, cause: err}
	default:
		return &Error{Kind: Network, Message: inner(err).Error(), passing: true}
	}
}

// inner leaves the request's address out of err: its query may hold a key.
func inner(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		return request.Err
	}
	return err
}

// hint says what to do about e where no better place knew.
func (m *remote) hint(e *Error) string {
	switch e.Kind {
	case Auth:
		return m.endpoint.KeyHint
	case Quota:
		return "check the plan and billing of your account at " + m.endpoint.Name + ", or choose another provider"
	case RateLimited:
		if e.RetryAfter > 0 {
			return "try again in " + e.RetryAfter.Round(time.Second).String()
		}
		return "try again in a while, or choose another model"
	case Overloaded:
		return "try again in a while, or choose another model"
	case TooLong:
		return "the conversation no longer fits the model's context window: start a new session, or choose a model with a larger one"
	case NotFound:
		return fmt.Sprintf("check that %s has a model %q, and that base_url is right", m.endpoint.Name, m.id)
	case BadRequest:
		return "check the model and the provider's options, or choose another model"
	case Network:
		return "check that " + m.endpoint.host() + " can be reached from here (base_url, HTTPS_PROXY)"
	case Timeout:
		return "try again, or raise agent.request_timeout"
	case Broken:
		return "send the message again"
	default:
		return ""
	}
}

func (e Endpoint) host() string {
	if u, err := url.Parse(e.BaseURL); err == nil && u.Host != "" {
		return u.Host
	}
	return e.Name
}

// redact takes out of text all that could be a secret of the endpoint's.
func (e Endpoint) redact(text string) string {
	secrets := []string{e.Key}
	for _, value := range e.Headers {
		secrets = append(secrets, strings.TrimSpace(value))
		secrets = append(secrets, strings.Fields(value)...) // "Bearer x": x alone, too
	}
	if u, err := url.Parse(e.BaseURL); err == nil {
		password, _ := u.User.Password()
		secrets = append(secrets, password)
		for _, values := range u.Query() {
			secrets = append(secrets, values...)
		}
	}
	for _, secret := range secrets {
		if len(secret) >= shortestSecret || secret != "" && secret == e.Key {
			text = strings.ReplaceAll(text, secret, "[key]")
		}
	}
	return bounded(text)
}

const (
	shortestSecret = 8   // of values that may be no secret, so that no common word is taken out
	longestMessage = 600 // characters
)

// oneLine returns text without line breaks or control characters.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return strings.Join(strings.Fields(text), " ")
}

func bounded(text string) string {
	if runes := []rune(text); len(runes) > longestMessage {
		return string(runes[:longestMessage]) + "…"
	}
	return text
}

// kindOf sorts a failure by what was said and, where that is not telling, by its status.
func kindOf(status int, sentence, code string) Kind {
	said := strings.ToLower(sentence + " " + code)
	switch {
	case status != http.StatusTooManyRequests && tooLong(said):
		return TooLong
	case status == http.StatusPaymentRequired, containsAny(said, "insufficient_quota", "credit balance", "insufficient balance", "insufficient credit"),
		status != http.StatusTooManyRequests && strings.Contains(said, "billing"): // Google speaks of billing at each limit of a minute
		return Quota
	case containsAny(said, "content_policy", "content_filter", "moderation", "safety system"):
		return Refused
	case status == http.StatusUnauthorized, status == http.StatusForbidden,
		status == http.StatusBadRequest && containsAny(said, "api key not valid", "api_key_invalid", "invalid api key"):
		return Auth
	case status == http.StatusNotFound:
		return NotFound
	case status == http.StatusTooManyRequests:
		return RateLimited
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status >= 500:
		return Overloaded
	default:
		return BadRequest
	}
}

func containsAny(text string, words ...string) bool {
	for _, word := range words {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// tooLong reports whether said, in lower case, is one of the many ways to say that a conversation
// exceeds the context window. No field of any dialect tells it apart.
func tooLong(said string) bool {
	const wordings = `prompt is too long|prompt too long|input is too long|request_too_large|` +
		`context_length_exceeded|exceed_context_size|model_context_window_exceeded|` +
		`maximum context length|context[ _]length|context size|context limit|context window|context the overflows|context overflow|` +
		`input token count.*exceeds|prompt token count.*exceeds|maximum prompt length|exceeded model token limit|` +
		`reduce the length of the messages|too many tokens in the (prompt|request)|max_new_tokens. must be`
	return regexp.MustCompile(wordings).MatchString(said)
}
