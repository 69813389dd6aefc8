package acptest

import (
	"encoding/json"
	"fmt"
	"slices"
)

// A Record checks a conversation that another client held with an agent, line by line in the order
// in which the lines crossed the wire. It is for one goroutine.
type Record struct {
	schema *schema
	asked  map[string]string // methods of the client's open requests, by id
}

// NewRecord returns a Record of a conversation that has not begun.
func NewRecord() (*Record, error) {
	s, err := loadSchema()
	if err != nil {
		return nil, err
	}
	return &Record{schema: s, asked: map[string]string{}}, nil
}

// Client takes a line of the client, without judging it: it tells what later answers belong to.
func (r *Record) Client(line []byte) {
	var m message
	if json.Unmarshal(line, &m) == nil && m.Method != "" && m.ID != nil {
		r.asked[string(m.ID)] = m.Method
	}
}

// Agent takes a line of the agent and says what is wrong with it: that it is no JSON-RPC message,
// that the stable schema does not allow it, or that it answers what was not asked or was answered.
func (r *Record) Agent(line []byte) error {
	var m struct {
		message
		Version string `json:"jsonrpc"`
	}
	if err := json.Unmarshal(line, &m); err != nil || m.Version != "2.0" {
		return fmt.Errorf("no JSON-RPC message (%v): %.300s", err, line)
	}
	switch {
	case m.Method != "" && m.ID != nil:
		return r.schema.check(m.Method, "Request", m.Params)
	case m.Method != "":
		return r.schema.check(m.Method, "Notification", m.Params)
	}
	return r.answer(m.message)
}

func (r *Record) answer(m message) error {
	method, ok := r.asked[string(m.ID)]
	delete(r.asked, string(m.ID))
	switch {
	case m.Error != nil && m.Error.Message == "":
		return fmt.Errorf("an error without a message: %d", m.Error.Code)
	case m.Error != nil && string(m.ID) == "null":
		return nil // to a line whose id could not be read
	case !ok:
		return fmt.Errorf("an answer nobody waits for, or a second one: id %s", m.ID)
	case m.Error != nil:
		return nil
	}
	return r.schema.check(method, "Response", m.Result)
}

// Unanswered returns the methods of the client's requests that have no answer.
func (r *Record) Unanswered() []string {
	list := make([]string, 0, len(r.asked))
	for _, method := range r.asked {
		list = append(list, method)
	}
	slices.Sort(list)
	return list
}
