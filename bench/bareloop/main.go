// Bareloop is the yardstick of the benchmarks: the least program that an ACP editor could talk to.
// It has no model, no session file, no permissions, no cancel and one prompt at a time. What nimlet
// does for a prompt is measured as a multiple of what this does.
//
// A prompt's lines "read PATH" and "bash CMD" run at once, shown as an agent would show them; any
// other line is echoed as one chunk.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

type object = map[string]any

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		SessionID string `json:"sessionId"`
		CWD       string `json:"cwd"`
		Prompt    []struct {
			Text string `json:"text"`
		} `json:"prompt"`
	} `json:"params"`
}

func main() {
	l := loop{out: bufio.NewWriter(os.Stdout), folders: map[string]string{}}
	if err := l.serve(bufio.NewReader(os.Stdin)); err != nil {
		fmt.Fprintln(os.Stderr, "bareloop:", err)
		os.Exit(1)
	}
}

type loop struct {
	out     *bufio.Writer
	folders map[string]string // of each session
	calls   int
}

func (l *loop) serve(in *bufio.Reader) error {
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("reading a request: %w", err)
		}
		if r.ID == nil {
			continue
		}
		answer := object{"jsonrpc": "2.0", "id": r.ID}
		if result := l.answer(r); result != nil {
			answer["result"] = result
		} else {
			answer["error"] = object{"code": -32601, "message": "no such method: " + r.Method}
		}
		if err := l.send(answer); err != nil {
			return err
		}
	}
}

// answer returns the result of r, nil for a method that is not known.
func (l *loop) answer(r request) object {
	switch r.Method {
	case "initialize":
		return object{"protocolVersion": 1, "agentCapabilities": object{}, "authMethods": []string{}}
	case "session/new":
		id := fmt.Sprint("s", len(l.folders))
		l.folders[id] = r.Params.CWD
		return object{"sessionId": id}
	case "session/prompt":
		for _, block := range r.Params.Prompt {
			for line := range strings.Lines(block.Text) {
				l.command(r.Params.SessionID, strings.TrimSpace(line))
			}
		}
		return object{"stopReason": "end_turn"}
	default:
		return nil
	}
}

func (l *loop) command(session, line string) {
	name, rest, _ := strings.Cut(line, " ")
	switch name {
	case "read":
		l.tool(session, "read", line, func() ([]byte, error) {
			return os.ReadFile(filepath.Join(l.folders[session], rest))
		})
	case "bash":
		l.tool(session, "execute", line, func() ([]byte, error) {
			c := exec.Command("bash", "--noprofile", "--norc", "-c", rest)
			c.Dir = l.folders[session]
			return c.CombinedOutput()
		})
	default:
		l.say(session, line)
	}
}

func (l *loop) tool(session, kind, title string, run func() ([]byte, error)) {
	l.calls++
	id := fmt.Sprint("call", l.calls)
	l.update(session, object{"sessionUpdate": "tool_call", "toolCallId": id, "title": title, "kind": kind, "status": "pending"})
	l.update(session, object{"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "in_progress"})
	status := "completed"
	out, err := run()
	if err != nil {
		status, out = "failed", append(out, err.Error()...)
	}
	text := object{"type": "text", "text": string(out)}
	l.update(session, object{"sessionUpdate": "tool_call_update", "toolCallId": id, "status": status,
		"content": []object{{"type": "content", "content": text}}})
	l.say(session, string(out))
}

func (l *loop) say(session, text string) {
	l.update(session, object{"sessionUpdate": "agent_message_chunk", "content": object{"type": "text", "text": text}})
}

func (l *loop) update(session string, update object) {
	err := l.send(object{"jsonrpc": "2.0", "method": "session/update", "params": object{"sessionId": session, "update": update}})
	if err != nil {
		fmt.Fprintln(os.Stderr, "bareloop:", err)
		os.Exit(1)
	}
}

func (l *loop) send(message object) error {
	if err := json.NewEncoder(l.out).Encode(message); err != nil {
		return err
	}
	return l.out.Flush()
}
