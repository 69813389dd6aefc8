package transport

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

// What a token costs on its way to the editor, beside a bare write of the same bytes to the same kind
// of pipe, which is the least that it could cost.
func BenchmarkNotify(b *testing.B) {
	params := map[string]any{"sessionId": "s1", "update": map[string]any{"sessionUpdate": "agent_message_chunk", "content": map[string]string{"type": "text", "text": "token "}}}
	encoded, err := json.Marshal(params)
	if err != nil {
		b.Fatal(err)
	}
	line := `{"jsonrpc":"2.0","method":"session/update","params":` + string(encoded) + "}\n"
	b.Run("rawpipe", func(b *testing.B) {
		r, w, err := os.Pipe()
		if err != nil {
			b.Fatal(err)
		}
		drained := drain(r)
		for b.Loop() {
			w.WriteString(line)
		}
		w.Close()
		<-drained
		r.Close()
	})
	for name, params := range map[string]any{"struct": params, "encoded": json.RawMessage(encoded)} {
		b.Run(name, func(b *testing.B) {
			conns := make(chan *Conn, 1)
			p := connect(b, ACP, Options{Dialect: ACP}, func(c *Conn) Handler { conns <- c; return echo(c) })
			c := <-conns
			drained := drain(p.outFile)
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Notify(context.Background(), "session/update", params); err != nil {
					b.Fatal(err)
				}
			}
			p.in.Close()
			p.wait()
			<-drained
		})
	}
}

func drain(r io.Reader) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		io.Copy(io.Discard, bufio.NewReaderSize(r, chunk))
		close(done)
	}()
	return done
}

// A call and its answer, beside a line there and back through the same kind of pipes.
func BenchmarkRoundTrip(b *testing.B) {
	const call = `{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":1}}` + "\n"
	b.Run("rawpipe", func(b *testing.B) {
		one, two := pipePair(b)
		go func() {
			io.Copy(two.out, struct{ io.Reader }{two.in})
			two.out.Close()
		}()
		r := bufio.NewReader(one.in)
		for b.Loop() {
			io.WriteString(one.out, call)
			r.ReadString('\n')
		}
		one.out.Close()
		r.ReadString('\n')
	})
	b.Run("transport", func(b *testing.B) {
		p := connect(b, ACP, Options{}, echo)
		b.ReportAllocs()
		for b.Loop() {
			p.in.WriteString(call)
			p.out.ReadString('\n')
		}
	})
}

// Notifications that come in, as fast as the pipe brings them.
func BenchmarkReceive(b *testing.B) {
	for _, size := range []int{100, 64 << 10, 16 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			got := make(chan struct{}, 1024)
			p := connect(b, ACP, Options{}, func(*Conn) Handler {
				return func(context.Context, Request) func() (any, error) { got <- struct{}{}; return nil }
			})
			line := []byte(`{"jsonrpc":"2.0","method":"m","params":["` + strings.Repeat("x", size) + `"]}` + "\n")
			b.SetBytes(int64(len(line)))
			go func() {
				for range b.N {
					p.in.Write(line)
				}
			}()
			b.ResetTimer()
			for range b.N {
				<-got
			}
		})
	}
}
