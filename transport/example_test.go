package transport_test

import (
	"context"
	"fmt"
	"strings"

	"nimlet/transport"
)

// A server that knows one method. A real one would take its streams from Stdio and its context from
// Lifetime, and leave the dialect to the editor.
func Example() {
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"greet","params":{"name":"Ada"}}` + "\n")
	var out strings.Builder
	err := transport.Serve(context.Background(), in, &out, transport.Options{}, func(c *transport.Conn) transport.Handler {
		return func(ctx context.Context, req transport.Request) func() (any, error) {
			if req.Method != "greet" {
				return nil // -32601 for a call
			}
			return func() (any, error) {
				if err := c.Notify(ctx, "progress", map[string]int{"percent": 50}); err != nil {
					return nil, err
				}
				return map[string]any{"dialect": c.Dialect().String()}, nil
			}
		}
	})
	fmt.Print(out.String())
	fmt.Println(err)
	// Output:
	// {"jsonrpc":"2.0","method":"progress","params":{"percent":50}}
	// {"jsonrpc":"2.0","id":1,"result":{"dialect":"ACP"}}
	// <nil>
}
