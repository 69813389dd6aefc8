package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"nimlet/agent/model"
)

// A Part is a piece of a reply, or a way in which it goes wrong.
type Part func(*reply)

// A reply is one answer as it was scripted.
type reply struct {
	blocks []piece
	stop   string // "" means what the blocks say
	usage  usage

	status int // of a refusal; 0 for an answer
	header map[string]string
	body   string

	fault   fault
	oneByte bool
	noise   bool
	crlf    bool
}

type piece struct{ kind, text, id, name, signature string }

type usage struct{ input, output, cacheRead, cacheWrite int }

// A fault is how an answer ends when not in all order.
type fault int

const (
	none     fault = iota
	hangUp         // the connection is cut in the middle of an event
	cleanEnd       // the body ends in the middle of an event, without an error
	noEnd          // the body ends between two events, before the last
	garbage        // an event is no JSON
	stall          // nothing comes any more until the client has gone
	errorEvent
)

// Text is said in words, one event each.
func Text(text string) Part {
	return func(r *reply) { r.blocks = append(r.blocks, piece{kind: "text", text: text}) }
}

// Think is a thought. The signature is for Anthropic alone.
func Think(text, signature string) Part {
	return func(r *reply) { r.blocks = append(r.blocks, piece{kind: "thinking", text: text, signature: signature}) }
}

// Redacted is an encrypted thought, as Anthropic sends them.
func Redacted(data string) Part {
	return func(r *reply) { r.blocks = append(r.blocks, piece{kind: "redacted_thinking", signature: data}) }
}

// Call calls a tool, under an id of its own.
func Call(name, arguments string) Part {
	return func(r *reply) {
		r.blocks = append(r.blocks, piece{kind: "call", id: fmt.Sprintf("toolu_%s_%d", name, len(r.blocks)), name: name, text: arguments})
	}
}

// CallID calls a tool under id, which may be "" or one that was used before.
func CallID(id, name, arguments string) Part {
	return func(r *reply) {
		r.blocks = append(r.blocks, piece{kind: "call", id: id, name: name, text: arguments})
	}
}

// Usage counts tokens; input is what neither cache figure holds.
func Usage(input, output, cacheRead, cacheWrite int) Part {
	return func(r *reply) { r.usage = usage{input, output, cacheRead, cacheWrite} }
}

// Stop gives the reason, in the dialect's own word.
func Stop(reason string) Part { return func(r *reply) { r.stop = reason } }

// Fail refuses the request. header holds names and values in turn.
func Fail(status int, body string, header ...string) Part {
	return func(r *reply) {
		r.status, r.body, r.header = status, body, map[string]string{}
		for i := 0; i+1 < len(header); i += 2 {
			r.header[header[i]] = header[i+1]
		}
	}
}

// ErrorEvent ends the answer with an error of the dialect's, after the parts before it.
func ErrorEvent(kind, message string) Part {
	return func(r *reply) {
		data, err := json.Marshal(map[string]any{"type": "error", "error": map[string]string{"type": kind, "message": message}})
		if err != nil {
			panic("modeltest: strings encode: " + err.Error())
		}
		r.fault, r.body = errorEvent, string(data)
	}
}

// How an answer may go wrong after its parts were sent.
func HangUp() Part   { return func(r *reply) { r.fault = hangUp } }   // cuts the connection in mid-event
func CleanEnd() Part { return func(r *reply) { r.fault = cleanEnd } } // ends the body in mid-event, in all order
func NoEnd() Part    { return func(r *reply) { r.fault = noEnd } }    // ends the body without the last event
func Garbage() Part  { return func(r *reply) { r.fault = garbage } }  // sends an event that is no JSON
func Stall() Part    { return func(r *reply) { r.fault = stall } }    // falls silent until the client has gone

// OneByte sends every byte by itself.
func OneByte() Part { return func(r *reply) { r.oneByte = true } }

// Noise puts unknown fields, unknown events and comments among the known.
func Noise() Part { return func(r *reply) { r.noise = true } }

// CRLF ends lines as some proxies do.
func CRLF() Part { return func(r *reply) { r.crlf = true } }

// write sends the reply to a client.
func (r reply) write(w http.ResponseWriter, request *http.Request, dialect model.Dialect) {
	for name, value := range r.header {
		w.Header().Set(name, value)
	}
	if r.status != 0 {
		if w.Header().Get("Content-Type") == "" {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(r.status)
		_, _ = w.Write([]byte(r.body)) // a client that has gone needs no answer
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	stream, end := r.anthropic()
	if dialect == model.OpenAI {
		stream, end = r.openai()
	}
	switch r.fault {
	case none:
		stream += end
	case hangUp, cleanEnd:
		stream += end[:len(end)/2-len(end)/8]
	case garbage:
		stream += "data: {\"type\": oops\n\n"
	case errorEvent:
		stream += "event: error\ndata: " + r.body + "\n\n"
	}
	r.send(w, stream)
	switch r.fault {
	case hangUp:
		panic(http.ErrAbortHandler)
	case stall:
		<-request.Context().Done()
	}
}

func (r reply) send(w http.ResponseWriter, stream string) {
	if r.crlf {
		stream = strings.ReplaceAll(stream, "\n", "\r\n")
	}
	out, step := http.NewResponseController(w), len(stream)
	if r.oneByte {
		step = 1
	}
	for len(stream) > 0 {
		if _, err := w.Write([]byte(stream[:step])); err != nil {
			return
		}
		stream = stream[step:]
		if out.Flush() != nil {
			return
		}
	}
	_ = out.Flush() // of the headers, when there is nothing else
}

// fragments cuts text into events: words, or few large pieces where there are very many.
func fragments(text string) []string {
	if len(text) > 1<<20 {
		var all []string
		for len(text) > 1<<16 {
			all, text = append(all, text[:1<<16]), text[1<<16:]
		}
		return append(all, text)
	}
	return strings.SplitAfter(text, " ")
}
