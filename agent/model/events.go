package model

import (
	"io"
	"iter"
	"strings"

	"github.com/tmaxmax/go-sse"
)

// maxEvent bounds one event; some providers send the whole of a call's arguments in one.
const maxEvent = 64 << 20

// events returns the data of each server-sent event in body. The end of body closes the last event,
// as some servers leave out the blank line: an event that was cut in two is no JSON, and a stream
// that was cut between two lacks the last one, so neither passes for a whole answer.
func events(body io.Reader) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		closed := io.MultiReader(body, strings.NewReader("\n\n"))
		for event, err := range sse.Read(closed, &sse.ReadConfig{MaxEventSize: maxEvent}) {
			if err == nil && strings.TrimSpace(event.Data) == "" {
				continue // a keep-alive
			}
			if !yield(event.Data, err) || err != nil {
				return
			}
		}
	}
}
