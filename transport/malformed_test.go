package transport

import (
	"strings"
	"testing"
)

// Between two valid requests each of these gets its answer, and the second request gets its own.
func TestMalformedMessagesAreAnsweredAndReadingGoesOn(t *testing.T) {
	nested := strings.Repeat("[", 20000) + strings.Repeat("]", 20000)
	tests := []struct{ name, body, want string }{
		{"bad JSON", `{"jsonrpc":"2.0","id":2,"method":}`, "null -32700"},
		{"bad JSON inside params", `{"jsonrpc":"2.0","id":2,"method":"echo","params":{"a" 1}}`, "null -32700"},
		{"torn", `{"jsonrpc":"2.0","id":2,"meth`, "null -32700"},
		{"no JSON at all", `hello there`, "null -32700"},
		{"control byte in a string", "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"a\x01\"}", "null -32700"},
		{"NUL bytes", "\x00\x00\x00", "null -32700"},
		{"two messages in one", `{"jsonrpc":"2.0","id":2,"method":"echo"}{"a":1}`, "null -32700"},
		{"nested too deeply", `{"jsonrpc":"2.0","id":2,"method":"echo","params":` + nested + `}`, "null -32700"},
		{"number", `42`, "null -32600"},
		{"string", `"hello"`, "null -32600"},
		{"null", `null`, "null -32600"},
		{"empty object", `{}`, "null -32600"},
		{"id alone", `{"jsonrpc":"2.0","id":2}`, "2 -32600"},
		{"missing jsonrpc", `{"id":2,"method":"echo"}`, "2 -32600"},
		{"old jsonrpc", `{"jsonrpc":"1.0","id":"x","method":"echo"}`, `"x" -32600`},
		{"jsonrpc is a number", `{"jsonrpc":2.0,"id":2,"method":"echo"}`, "2 -32600"},
		{"notification without jsonrpc", `{"method":"echo"}`, "null -32600"},
		{"float id", `{"jsonrpc":"2.0","id":1.5,"method":"echo"}`, "null -32600"},
		{"exponent id", `{"jsonrpc":"2.0","id":1e3,"method":"echo"}`, "null -32600"},
		{"bool id", `{"jsonrpc":"2.0","id":true,"method":"echo"}`, "null -32600"},
		{"null id", `{"jsonrpc":"2.0","id":null,"method":"echo"}`, "null -32600"},
		{"object id", `{"jsonrpc":"2.0","id":{},"method":"echo"}`, "null -32600"},
		{"huge id", `{"jsonrpc":"2.0","id":9223372036854775808,"method":"echo"}`, "null -32600"},
		{"method is a number", `{"jsonrpc":"2.0","id":2,"method":5}`, "2 -32600"},
		{"method is null", `{"jsonrpc":"2.0","id":2,"method":null}`, "2 -32600"},
		{"method and result", `{"jsonrpc":"2.0","id":2,"method":"echo","result":1}`, "2 -32600"},
		{"batch", `[{"jsonrpc":"2.0","id":2,"method":"echo"},{"jsonrpc":"2.0","id":3,"method":"echo"}]`, "null -32600"},
		{"empty batch", `[]`, "null -32600"},
		{"batch of numbers", `[1,2,3]`, "null -32600"},
		{"torn batch", `[{"jsonrpc":"2.0"`, "null -32700"},
		{"unknown method", `{"jsonrpc":"2.0","id":2,"method":"nope"}`, "2 -32601"},
		{"unknown $/ call", `{"jsonrpc":"2.0","id":2,"method":"$/nope"}`, "2 -32601"},
		{"cancel as a call", `{"jsonrpc":"2.0","id":2,"method":"$/cancel_request","params":{"requestId":1}}`, "2 -32601"},
		{"empty method", `{"jsonrpc":"2.0","id":2,"method":""}`, "2 -32601"},
		{"panic in run", `{"jsonrpc":"2.0","id":2,"method":"die"}`, "2 -32603"},
		{"panic in the handler", `{"jsonrpc":"2.0","id":2,"method":"die at once"}`, "2 -32603"},
		{"plain error", `{"jsonrpc":"2.0","id":2,"method":"fail"}`, "2 -32603"},
		{"coded error", `{"jsonrpc":"2.0","id":2,"method":"code"}`, "2 -32002"},
		{"id 0", `{"jsonrpc":"2.0","id":0,"method":"echo","params":[0]}`, "0 ok [0]"},
		{"negative id", `{"jsonrpc":"2.0","id":-7,"method":"echo","params":[0]}`, "-7 ok [0]"},
		{"largest id", `{"jsonrpc":"2.0","id":9223372036854775807,"method":"echo"}`, "9223372036854775807 ok null"},
		{"string id", `{"jsonrpc":"2.0","id":"a \"b\" é","method":"echo"}`, `"a \"b\" é" ok null`},
		{"empty string id", `{"jsonrpc":"2.0","id":"","method":"echo"}`, `"" ok null`},
		{"bad UTF-8 in params", "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"echo\",\"params\":[\"a\xffb\"]}", "2 ok [\"a\uFFFDb\"]"},
		{"bad UTF-8 in the method", "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"\xc3\"}", "2 -32601"},
		{"lone surrogate", `{"jsonrpc":"2.0","id":2,"method":"echo","params":["\ud800"]}`, `2 ok ["\ud800"]`},
		{"null params", `{"jsonrpc":"2.0","id":2,"method":"echo","params":null}`, "2 ok null"},
		{"unknown members", `{"jsonrpc":"2.0","id":2,"method":"echo","extra":{"a":[]},"_meta":1}`, "2 ok null"},
		{"members in any order", `{"params":[1],"method":"echo","id":2,"jsonrpc":"2.0"}`, "2 ok [1]"},
		{"white space", " { \"jsonrpc\" : \"2.0\" , \"id\" : 2 , \"method\" : \"echo\" } ", "2 ok null"},
		{"HTML stays", `{"jsonrpc":"2.0","id":2,"method":"echo","params":["<&>"]}`, `2 ok ["<&>"]`},
		{"notification", `{"jsonrpc":"2.0","method":"echo"}`, ""},
		{"unknown notification", `{"jsonrpc":"2.0","method":"nope"}`, ""},
		{"unknown $/ notification", `{"jsonrpc":"2.0","method":"$/setTrace","params":{"value":"off"}}`, ""},
		{"notification that panics", `{"jsonrpc":"2.0","method":"die"}`, ""},
		{"notification that panics at once", `{"jsonrpc":"2.0","method":"die at once"}`, ""},
		{"notification that fails", `{"jsonrpc":"2.0","method":"fail"}`, ""},
		{"answer to no call", `{"jsonrpc":"2.0","id":77,"result":{}}`, ""},
		{"error for no call", `{"jsonrpc":"2.0","id":77,"error":{"code":1,"message":"x"}}`, ""},
		{"answer with null id", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`, ""},
		{"answer with string id", `{"jsonrpc":"2.0","id":"77","result":{}}`, ""},
		{"answer with float id", `{"jsonrpc":"2.0","id":7.5,"result":{}}`, ""},
		{"answer without jsonrpc", `{"id":77,"result":{}}`, ""},
		{"malformed error", `{"jsonrpc":"2.0","id":77,"error":"oops"}`, ""},
		{"cancel of nothing", `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":99}}`, ""},
		{"cancel without params", `{"jsonrpc":"2.0","method":"$/cancelRequest"}`, ""},
		{"cancel with odd params", `{"jsonrpc":"2.0","method":"$/cancel_request","params":[1,2]}`, ""},
		{"cancel with an odd id", `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":{"a":1}}}`, ""},
		{"cancel with null id", `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":null}}`, ""},
	}
	eachDialect(t, func(t *testing.T, d Dialect) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				p := connect(t, d, Options{}, echo)
				p.send(`{"jsonrpc":"2.0","id":1,"method":"echo","params":["first"]}`)
				p.expect(`1 ok ["first"]`)
				p.send(tt.body)
				if tt.want != "" {
					p.expect(tt.want)
				}
				p.send(`{"jsonrpc":"2.0","id":100,"method":"echo","params":["last"]}`)
				p.expect(`100 ok ["last"]`)
			})
		}
	})
}

// The same for what only one framing knows: the bytes as they are on the wire.
func TestBrokenFramingCostsNoOtherMessage(t *testing.T) {
	const body = `{"jsonrpc":"2.0","id":2,"method":"echo","params":["x"]}` // 55 bytes
	const long = `{"jsonrpc":"2.0","id":2,"method":"echo","params":["0123456789"]}`
	tests := []struct {
		name    string
		dialect Dialect
		wire    string
		want    []string
	}{
		{"blank lines", ACP, "\n\r\n  \t\n" + body + "\n\n", []string{`2 ok ["x"]`}},
		{"CRLF", ACP, body + "\r\n", []string{`2 ok ["x"]`}},
		{"noise between messages", ACP, "npm notice\n" + body + "\n", []string{"null -32700", `2 ok ["x"]`}},
		{"lower case header", LSP, "content-length: 55\r\n\r\n" + body, []string{`2 ok ["x"]`}},
		{"upper case header", LSP, "CONTENT-LENGTH:55\r\n\r\n" + body, []string{`2 ok ["x"]`}},
		{"LF alone", LSP, "Content-Length: 55\n\n" + body, []string{`2 ok ["x"]`}},
		{"header after Content-Length", LSP, "Content-Length: 55\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n" + body, []string{`2 ok ["x"]`}},
		{"header before Content-Length", LSP, "X-Extra: 1\r\nContent-Type: a\r\nContent-Length: 55\r\n\r\n" + body, []string{`2 ok ["x"]`}},
		{"newlines between messages", LSP, "\r\n\r\n\nContent-Length: 55\r\n\r\n" + body + "\r\n", []string{`2 ok ["x"]`}},
		{"too short", LSP, "Content-Length: 50\r\n\r\n" + body, []string{"null -32700"}},
		{"too short by one", LSP, "Content-Length: 54\r\n\r\n" + body, []string{"null -32700"}},
		{"too long by one", LSP, "Content-Length: 56\r\n\r\n" + body, []string{`2 ok ["x"]`}},
		{"too long by nine", LSP, "Content-Length: 64\r\n\r\n" + body, []string{`2 ok ["x"]`}},
		{"too long by a header", LSP, "Content-Length: 76\r\n\r\n" + body, []string{`2 ok ["x"]`}},
		{"too long by a message", LSP, "Content-Length: 130\r\n\r\n" + body, []string{`2 ok ["x"]`}},
		{"far too long", LSP, "Content-Length: 100000\r\n\r\n" + body, []string{`2 ok ["x"]`}},
		{"too long before Content-Type", LSP, "Content-Length: 999\r\n\r\n" + body + "Content-Type: a\r\n", []string{`2 ok ["x"]`}},
		{"absurdly long", LSP, "Content-Length: 99999999999\r\n\r\n" + body, []string{"null -32600"}},
		{"beyond numbers", LSP, "Content-Length: 99999999999999999999999\r\n\r\n" + body, []string{"null -32700"}},
		{"negative", LSP, "Content-Length: -1\r\n\r\n" + body, []string{"null -32700"}},
		{"no number", LSP, "Content-Length: many\r\n\r\n" + body, []string{"null -32700"}},
		{"zero", LSP, "Content-Length: 0\r\n\r\n", []string{"null -32700"}},
		{"missing", LSP, "Content-Type: a\r\n\r\n" + body, []string{"null -32700"}},
		{"no header at all", LSP, body + "\r\n\r\n" + body + "\r\n\r\n", []string{"null -32700"}},
		{"twice", LSP, "Content-Length: 3\r\nContent-Length: 55\r\n\r\n" + body, []string{`2 ok ["x"]`}},
		{"pretty-printed", LSP, frameText(LSP, "{\r\n \"jsonrpc\": \"2.0\",\r\n \"id\": 2,\r\n \"method\": \"echo\"\r\n}"), []string{"2 ok null"}},
		{"a header in a string", LSP, frameText(LSP, `{"jsonrpc":"2.0","id":2,"method":"echo","params":["Content-Length: 5\r\n\r\n"]}`), []string{`2 ok ["Content-Length: 5\r\n\r\n"]`}},
		{"bad UTF-8 before a header", LSP, "Content-Length: 30\r\n\r\n" + strings.Replace(long, "0123456789", "\xff\xff\xff\xff\xff\xff\xff\xff", 1), []string{"null -32700"}},
		{"length in characters", LSP, "Content-Length: 57\r\n\r\n" + strings.Replace(long, "0123456789", "éé", 1), []string{"null -32700"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := connect(t, tt.dialect, Options{}, echo)
			p.send(`{"jsonrpc":"2.0","id":1,"method":"echo","params":["first"]}`)
			p.expect(`1 ok ["first"]`)
			p.raw(tt.wire)
			p.send(`{"jsonrpc":"2.0","id":100,"method":"echo","params":["last"]}`)
			got := map[string]bool{}
			for range len(tt.want) + 1 { // answers of two requests may change places
				got[p.receive().String()] = true
			}
			for _, w := range append(tt.want, `100 ok ["last"]`) {
				if !got[w] {
					t.Errorf("server sent %v, want %s among them", got, w)
				}
			}
		})
	}
}
