package transport

import (
	"context"
	"strings"
	"testing"
)

func TestFirstLineTellsTheDialect(t *testing.T) {
	const body = `{"jsonrpc":"2.0","id":1,"method":"which"}`
	tests := []struct {
		name string
		want Dialect
		fix  Dialect
		wire string
	}{
		{"ACP", ACP, 0, body + "\n"},
		{"LSP", LSP, 0, frameText(LSP, body)},
		{"LSP in lower case", LSP, 0, "content-length: 41\r\n\r\n" + body},
		{"LSP, another header first", LSP, 0, "Content-Type: x\r\nContent-Length: 41\r\n\r\n" + body},
		{"ACP, last line without newline", ACP, 0, body},
		{"ACP after a byte order mark", ACP, 0, utf8BOM + body + "\n"},
		{"LSP after a byte order mark", LSP, 0, utf8BOM + frameText(LSP, body)},
		{"ACP, indented", ACP, 0, "\n\n  " + body + "\n"},
		{"ACP after noise", ACP, 0, "Welcome to fish\nLast login: today\n[oh-my-zsh] update?\n[1] 4242\n" + body + "\n"},
		{"LSP after noise", LSP, 0, "Welcome to fish\r\n\x1b[0m[INFO] ready\n[1] 4242\n" + frameText(LSP, body)},
		{"LSP after noise like a header", LSP, 0, "Contents: none\ncontent" + "\n" + frameText(LSP, body)},
		{"ACP after a megabyte of noise", ACP, 0, strings.Repeat("noise ", 200000) + "\n" + body + "\n"},
		{"LSP wanted, braces before", LSP, LSP, "{ echo hi; }\n" + frameText(LSP, body)},
		{"ACP wanted, a header before", ACP, ACP, "Content-Length: 5\n" + body + "\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			calls := 0
			p := connect(t, tt.want, Options{Dialect: tt.fix}, func(c *Conn) Handler {
				calls++
				return func(context.Context, Request) func() (any, error) {
					return func() (any, error) { return c.Dialect().String(), nil }
				}
			})
			go func() {
				p.in.WriteString(tt.wire)
				p.in.Close()
			}()
			p.expect(`1 ok "` + tt.want.String() + `"`)
			if err := p.wait(); err != nil {
				t.Errorf("Serve: %v", err)
			}
			if calls != 1 {
				t.Errorf("newHandler was called %d times", calls)
			}
		})
	}
}

func TestAnArrayOpensTheACPDialect(t *testing.T) {
	for body, want := range map[string]string{`[]`: "null -32600", `[1,2]`: "null -32600", `[{"a":`: "null -32700", `{`: "null -32700"} {
		p := connect(t, ACP, Options{}, echo)
		p.send(body)
		p.expect(want)
	}
}

func TestInputWithoutAMessageEndsQuietly(t *testing.T) {
	for _, wire := range []string{"", "\n\n", "noise", "noise\nnoise\n", "Cont", "Content-Length: 5", utf8BOM} {
		p := connect(t, ACP, Options{}, func(*Conn) Handler {
			t.Error("newHandler was called")
			return nil
		})
		p.raw(wire)
		p.in.Close()
		if err := p.wait(); err != nil {
			t.Errorf("after %q Serve returned %v", wire, err)
		}
	}
}
