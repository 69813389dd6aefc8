package model_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"nimlet/agent/model"
	"nimlet/session"
)

// flood answers each request with n chunks of one token, as fast as the pipe takes them.
func flood(t testing.TB, d model.Dialect, n int) model.Model {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		chunk, end := `data: {"choices":[{"index":0,"delta":{"content":"word "}}]}`+"\n\n", "data: [DONE]\n\n"
		if d == model.Anthropic {
			chunk = "event: content_block_delta\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word "}}` + "\n\n"
			end = "event: message_stop\n" + `data: {"type":"message_stop"}` + "\n\n"
		}
		block := strings.Repeat(chunk, 50)
		for range n / 50 {
			_, _ = io.WriteString(w, block)
		}
		_, _ = io.WriteString(w, end)
	}))
	t.Cleanup(server.Close)
	return model.New(model.Endpoint{Name: "flood", Dialect: d, BaseURL: server.URL, Client: server.Client()}, "m", able)
}

func drain(t testing.TB, m model.Model, r model.Request) (chunks int) {
	t.Helper()
	for _, err := range m.Stream(t.Context(), r) {
		if err != nil {
			t.Fatal(err)
		}
		chunks++
	}
	return chunks
}

func BenchmarkStream(b *testing.B) {
	const chunks = 50_000
	for _, d := range []model.Dialect{model.Anthropic, model.OpenAI} {
		b.Run(string(d), func(b *testing.B) {
			m := flood(b, d, chunks)
			b.ReportAllocs()
			for b.Loop() {
				drain(b, m, hello())
			}
			b.ReportMetric(float64(chunks)*float64(b.N)/b.Elapsed().Seconds(), "chunks/s")
		})
	}
}

func BenchmarkPrompt(b *testing.B) {
	for _, messages := range []int{1, 10_000} {
		b.Run(fmt.Sprint(messages), func(b *testing.B) {
			m, r := flood(b, model.Anthropic, 50), hello()
			for range messages / 2 {
				r.Messages = append(r.Messages, said(text("An answer of some length, as most are.")), user(text("And what then?")))
			}
			b.ReportAllocs()
			for b.Loop() {
				drain(b, m, r)
			}
		})
	}
}

// TestMemoryStaysFlat streams an answer of many megabytes and looks at what is alive in the middle.
func TestMemoryStaysFlat(t *testing.T) {
	dialects(t, func(t *testing.T, d model.Dialect) {
		const chunks = 50_000
		m := flood(t, d, chunks)
		alive := func() uint64 {
			runtime.GC()
			var s runtime.MemStats
			runtime.ReadMemStats(&s)
			return s.HeapAlloc
		}
		n, early, late := 0, uint64(0), uint64(0)
		for _, err := range m.Stream(t.Context(), model.Request{Messages: []session.Message{user(text("go"))}}) {
			if err != nil {
				t.Fatal(err)
			}
			switch n++; n {
			case chunks / 10:
				early = alive()
			case chunks - 1:
				late = alive()
			}
		}
		if n != chunks+1 {
			t.Errorf("%d chunks, want %d", n, chunks+1)
		}
		if late > early+4<<20 {
			t.Errorf("the heap grew from %d to %d bytes", early, late)
		}
	})
}
