package acp_test

import (
	"encoding/json"
	"testing"
)

func TestInitializeComesFirstAndOnce(t *testing.T) {
	d := sit(t, nil)
	if err := d.Fail("session/new", map[string]any{"cwd": d.dir, "mcpServers": []any{}}); err.Code != -32600 {
		t.Errorf("before initialize: %v", err)
	}
	d.Initialize(`{}`)
	if err := d.Fail("initialize", map[string]any{"protocolVersion": 1}); err.Code != -32600 {
		t.Errorf("a second initialize: %v", err)
	}
}

func TestEveryProtocolVersionIsAnsweredWithOurs(t *testing.T) {
	for _, asked := range []int{0, 1, 2, 99} {
		d := sit(t, nil)
		var r struct{ ProtocolVersion int }
		d.Call("initialize", map[string]any{"protocolVersion": asked}, &r)
		if r.ProtocolVersion != 1 {
			t.Errorf("asked for %d, got %d", asked, r.ProtocolVersion)
		}
	}
}

func TestMalformedOptionalFieldsAreAsIfAbsent(t *testing.T) {
	d := sit(t, nil)
	d.Call("initialize", map[string]any{
		"protocolVersion": 1, "clientInfo": 7,
		"clientCapabilities": map[string]any{"fs": "yes", "session": []int{1}, "elicitation": map[string]any{"form": 3}, "_meta": "x"},
	}, nil)
	var r struct{ SessionID string }
	d.Call("session/new", map[string]any{"cwd": d.dir, "mcpServers": []any{}, "additionalDirectories": "none"}, &r)
	if r.SessionID == "" {
		t.Error("no session")
	}
}

func TestWrongRequestsNameTheFieldAndCostNothing(t *testing.T) {
	d := sit(t, nil)
	if err := d.Fail("initialize", map[string]any{}); err.Code != -32602 {
		t.Errorf("initialize without a version: %v", err)
	}
	d.Initialize(`{}`)
	id := d.New(d.dir)
	for name, c := range map[string]struct {
		method string
		params any
		code   int
	}{
		"unknown method":        {"session/set_model", map[string]any{"sessionId": id}, -32601},
		"unknown own method":    {"_nimlet/nosuch", nil, -32601},
		"no cwd":                {"session/new", map[string]any{"mcpServers": []any{}}, -32602},
		"relative cwd":          {"session/new", map[string]any{"cwd": "here", "mcpServers": []any{}}, -32602},
		"missing cwd":           {"session/new", map[string]any{"cwd": d.dir + "/nosuch", "mcpServers": []any{}}, -32602},
		"cwd is a number":       {"session/new", map[string]any{"cwd": 7, "mcpServers": []any{}}, -32602},
		"unknown session":       {"session/load", map[string]any{"sessionId": "1", "cwd": d.dir, "mcpServers": []any{}}, -32002},
		"session id is a path":  {"session/load", map[string]any{"sessionId": "../1", "cwd": d.dir, "mcpServers": []any{}}, -32002},
		"prompt of nobody":      {"session/prompt", map[string]any{"sessionId": "1", "prompt": []any{map[string]any{"type": "text", "text": "x"}}}, -32002},
		"prompt without blocks": {"session/prompt", map[string]any{"sessionId": id, "prompt": []any{}}, -32602},
		"unknown block":         {"session/prompt", map[string]any{"sessionId": id, "prompt": []any{map[string]any{"type": "video"}}}, -32602},
		"audio block":           {"session/prompt", map[string]any{"sessionId": id, "prompt": []any{map[string]any{"type": "audio", "data": "", "mimeType": "audio/wav"}}}, -32602},
		"image without data":    {"session/prompt", map[string]any{"sessionId": id, "prompt": []any{map[string]any{"type": "image", "mimeType": "image/png"}}}, -32602},
		"unknown mode":          {"session/set_mode", map[string]any{"sessionId": id, "modeId": "ask"}, -32602},
		"unknown option":        {"session/set_config_option", map[string]any{"sessionId": id, "configId": "x", "value": "y"}, -32602},
		"unknown auth method":   {"authenticate", map[string]any{"methodId": "x"}, -32602},
		"bad cursor":            {"session/list", map[string]any{"cursor": "never given"}, -32602},
		"params are an array":   {"session/prompt", []any{1}, -32602},
	} {
		t.Run(name, func(t *testing.T) {
			if err := d.Fail(c.method, c.params); err.Code != c.code || err.Message == "" {
				t.Errorf("answered %v, want code %d", err, c.code)
			}
		})
	}
	d.Notify("_nimlet/nosuch", nil)
	d.Notify("session/cancel", map[string]any{"sessionId": "1"})
	d.Notify("session/cancel", 7)
	d.Say(id, "still there?")
	d.Call("authenticate", map[string]any{"methodId": "env"}, nil)
}

func TestOnlyWhatWorksIsAdvertised(t *testing.T) {
	d := sit(t, nil)
	var r map[string]json.RawMessage
	d.Call("initialize", map[string]any{"protocolVersion": 1}, &r)
	const want = `{"loadSession":true,"promptCapabilities":{"image":true,"audio":false,"embeddedContext":true},"mcpCapabilities":{"http":false,"sse":false},` +
		`"sessionCapabilities":{"list":{},"resume":{},"close":{},"delete":{},"additionalDirectories":{}}}`
	if got := string(r["agentCapabilities"]); got != want {
		t.Errorf("advertised %s\nwant %s", got, want)
	}
}
