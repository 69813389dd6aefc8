package headless

import (
	"bytes"
	"encoding/json"
	"fmt"

	"nimlet/agent"
	"nimlet/server/acp"
)

// A jsonView prints the update objects of ACP, one a line, and at last a result.
type jsonView struct {
	out     *output
	updates *acp.Updates
}

func newJSON(out *output) *jsonView {
	j := &jsonView{out: out}
	j.updates = acp.NewUpdates(j.print)
	return j
}

func (j *jsonView) emit(e agent.Event) { j.updates.Emit(e) }

// A result is the last line. One of StopReason and Error is set.
type result struct {
	Type       string `json:"type"` // "result"
	StopReason string `json:"stopReason,omitempty"`
	SessionID  string `json:"sessionId,omitempty"` // missing when no session was opened
	Error      string `json:"error,omitempty"`
}

func (j *jsonView) end(o outcome) {
	if o.late {
		return // a write is stuck: another would wait behind it
	}
	r := result{Type: "result", SessionID: o.session, StopReason: acp.StopReason(o.reason)}
	if o.err != nil {
		r.StopReason, r.Error = "", o.err.Error()
	}
	j.print(r)
}

func (j *jsonView) print(v any) {
	line, err := encodeLine(v)
	if err != nil {
		j.out.fail(fmt.Errorf("encoding an update: %w", err))
		return
	}
	j.out.write(line)
}

func encodeLine(v any) (string, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return b.String(), err
}
