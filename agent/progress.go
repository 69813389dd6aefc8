package agent

import (
	"sync"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"

	"nimlet/session"
)

// What a running call puts out is shown as its tail, this often and this long (ACP tool_call_update).
const (
	progressDelay = 200 * time.Millisecond
	progressTail  = 8 << 10
)

// A progress shows the output of one running call. It costs the same however much there is.
type progress struct {
	agent *Agent
	call  string

	mu      sync.Mutex
	tail    []byte // the last of all output, whole characters only when cut
	fresh   int    // how many bytes at the end of tail have not been stored
	timer   *time.Timer
	waiting bool
	closed  bool
}

func newProgress(a *Agent, call string) *progress { return &progress{agent: a, call: call} }

// add takes more output. The first is shown at once.
func (p *progress) add(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || text == "" {
		return
	}
	p.tail = lastBytes(append(p.tail, text...), progressTail)
	p.fresh = min(p.fresh+len(text), len(p.tail))
	switch {
	case p.timer == nil:
		p.showLocked()
		p.timer = time.AfterFunc(progressDelay, p.tick)
		p.waiting = true
	case !p.waiting:
		p.waiting = true
		p.timer.Reset(progressDelay)
	}
}

func (p *progress) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = false
	p.showLocked()
}

// showLocked stores what is new, then shows the tail.
func (p *progress) showLocked() {
	if p.fresh == 0 || p.closed {
		return
	}
	fresh := string(p.tail[len(p.tail)-p.fresh:])
	p.fresh = 0
	err := p.agent.cfg.Log.Partial(session.Partial{Kind: session.PartialOutput, ID: p.call, Text: fresh})
	if err != nil {
		// The result is stored when the call ends, and fails loudly then if the disk is still bad.
		p.agent.cfg.Logger.Warn("storing output of a running call", zap.Error(err))
		return
	}
	p.agent.emit(ToolProgress{CallID: p.call, Tail: string(p.tail), Fresh: fresh})
}

// close shows what was not shown yet, for editors that draw a terminal, and ends the timer.
func (p *progress) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.showLocked()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
}

// lastBytes returns the last n bytes of b, less the rest of a character that the cut went through.
func lastBytes(b []byte, n int) []byte {
	if len(b) <= n {
		return b
	}
	b = b[len(b)-n:]
	for i := 0; i < utf8.UTFMax && i < len(b); i++ {
		if utf8.RuneStart(b[i]) {
			return b[i:]
		}
	}
	return b
}
