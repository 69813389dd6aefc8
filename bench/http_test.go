package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A scripted is a model on this machine that speaks OpenAI's dialect over HTTP, as fast as it can,
// so that what is measured is nimlet's part. It does what the last message says: "read PATH" and
// "bash CMD" are calls, "stream N" is N words, any other text is echoed, and so is a result.
type scripted struct {
	http   *httptest.Server
	client *http.Client

	mu    sync.Mutex
	asked [][]byte // the requests since forget
}

func newScripted(t testing.TB) *scripted {
	t.Helper()
	transport := &http.Transport{}
	s := &scripted{client: &http.Client{Transport: transport}}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		s.http.Close()
	})
	return s
}

// agent starts nimlet with s as its only provider.
func (s *scripted) agent(t testing.TB) *agent {
	t.Helper()
	home := t.TempDir()
	dir := filepath.Join(home, ".nimlet")
	err := os.Mkdir(dir, 0o700)
	if err == nil {
		settings := fmt.Sprintf(`{"default_provider":"bench","default_model":"scripted","providers":{"bench":{"base_url":%q}}}`, s.http.URL+"/v1")
		err = os.WriteFile(filepath.Join(dir, "config.json"), []byte(settings), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return startIn(t, home, nimlet, "--acp", "--yolo")
}

func (s *scripted) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went away
	}
	s.mu.Lock()
	s.asked = append(s.asked, body)
	s.mu.Unlock()
	role, text, err := lastMessage(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = w.Write(reply(role, text)) // a client that has gone needs no answer
}

func lastMessage(body []byte) (role, text string, err error) {
	var request struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return "", "", err
	}
	if len(request.Messages) == 0 {
		return "", "", errors.New("there are no messages")
	}
	last := request.Messages[len(request.Messages)-1]
	if json.Unmarshal(last.Content, &text) == nil {
		return last.Role, text, nil
	}
	var parts []struct{ Text string }
	if err := json.Unmarshal(last.Content, &parts); err != nil {
		return "", "", err
	}
	for _, p := range parts {
		text += p.Text
	}
	return last.Role, text, nil
}

// reply returns the stream that answers a message.
func reply(role, text string) []byte {
	var out bytes.Buffer
	name, rest, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(rest)
	switch {
	case role == "user" && (name == "read" || name == "bash"):
		arguments, _ := json.Marshal(map[string]string{map[string]string{"read": "path", "bash": "command"}[name]: rest})
		fmt.Fprintf(&out, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_%s","type":"function","function":{"name":%q,"arguments":%q}}]}}]}`+"\n\n", name, name, arguments)
		out.WriteString(`data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n")
	case role == "user" && name == "stream" && err == nil:
		for i := range n {
			fmt.Fprintf(&out, `data: {"choices":[{"index":0,"delta":{"content":"word%d "}}]}`+"\n\n", i)
		}
		out.WriteString(`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n")
	default:
		content, _ := json.Marshal(text + "\n")
		fmt.Fprintf(&out, `data: {"choices":[{"index":0,"delta":{"content":%s},"finish_reason":"stop"}]}`+"\n\n", content)
	}
	out.WriteString("data: [DONE]\n\n")
	return out.Bytes()
}

// forget has the requests to come kept alone.
func (s *scripted) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = nil
}

func (s *scripted) requests() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// again sends the requests that were kept once more and drops the answers: the least that whoever
// asks a model over HTTP must pay.
func (s *scripted) again(b *testing.B) {
	b.Helper()
	asked := s.requests()
	if len(asked) == 0 {
		b.Fatal("the model was not asked")
	}
	for _, body := range asked {
		response, err := s.client.Post(s.http.URL+"/v1/chat/completions", "application/json", bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		_, err = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK {
			b.Fatal(response.Status, err)
		}
	}
}

// PromptHTTP is Prompt with a model behind HTTP, as ReadHTTP and BashHTTP are with two requests to
// it. Their yardstick is bareloop and, added to it, the same requests sent by a plain client ("http-ms").
func BenchmarkPromptHTTP(b *testing.B) { promptsHTTP(b, "hello", "hello", "hello") }

func BenchmarkReadHTTP(b *testing.B) { promptsHTTP(b, "read notes.txt", "third line", "third line") }

func BenchmarkBashHTTP(b *testing.B) { promptsHTTP(b, "bash true", "\n", "") }

func promptsHTTP(b *testing.B, text, wantNimlet, wantBare string) {
	s := newScripted(b)
	one, other := s.agent(b), start(b, bareloop)
	defer one.stop()
	defer other.stop()
	for _, a := range []*agent{one, other} {
		if err := os.WriteFile(filepath.Join(a.folder, "notes.txt"), []byte("first line\nsecond line\nthird line\n"), 0o600); err != nil {
			b.Fatal(err)
		}
		a.initialize()
		a.newSession()
		a.prompt("hello") // the first connects, and is another measurement
	}
	var p pairs
	var plain []time.Duration
	for b.Loop() {
		if len(p.nimlet)%100 == 99 { // a history of any length is another measurement, too
			one.closeSession()
			one.newSession()
			one.prompt("hello")
		}
		s.forget()
		p.nimlet = append(p.nimlet, answered(b, one, text, wantNimlet))
		plain = append(plain, timed(func() { s.again(b) }))
		p.bare = append(p.bare, answered(b, other, text, wantBare)+plain[len(plain)-1])
	}
	p.report(b)
	b.ReportMetric(ms(median(plain)), "http-ms")
	b.ReportMetric(ms(median(p.nimlet)-median(p.bare)), "beyond-ms")
}

// StreamHTTP is Stream with a model behind HTTP. The yardstick is a pipe of the same lines and,
// added to it, the same stream read by a plain client ("http-ms").
func BenchmarkStreamHTTP(b *testing.B) {
	const chunks = 50000
	s := newScripted(b)
	a := s.agent(b)
	defer a.stop()
	a.initialize()
	var took, bare, plain []time.Duration
	var first, last float64
	for b.Loop() {
		a.newSession()
		a.prompt("hello")
		s.forget()
		a.bytes, a.lines = 0, 0
		var said string
		took = append(took, timed(func() { said = a.prompt(fmt.Sprint("stream ", chunks)) }))
		if got := strings.Fields(said); len(got) != chunks || got[0] != "word0" || got[chunks-1] != fmt.Sprint("word", chunks-1) {
			b.Fatalf("of %d words came %d, not all and in order", chunks, len(got))
		}
		plain = append(plain, timed(func() { s.again(b) }))
		bare = append(bare, pipe(b, a.lines, a.bytes)+plain[len(plain)-1])
		a.closeSession() // what it held is not what a stream costs
		last, _ = a.resident()
		if first == 0 {
			first = last
		}
	}
	b.ReportMetric(chunks/median(took).Seconds(), "chunks/s")
	b.ReportMetric(float64(a.lines), "updates")
	pairs{took, bare}.report(b)
	b.ReportMetric(ms(median(plain)), "http-ms")
	b.ReportMetric(first, "first-MB")
	b.ReportMetric(last, "last-MB")
}

// TestTheScriptedModelIsAsked keeps the benchmarks over HTTP honest: nimlet asks, and does what it
// is told to.
func TestTheScriptedModelIsAsked(t *testing.T) {
	s := newScripted(t)
	a := s.agent(t)
	defer a.stop()
	a.initialize()
	a.newSession()
	if err := os.WriteFile(filepath.Join(a.folder, "notes.txt"), []byte("a note"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text, want string
		requests   int
	}{{"hello", "hello", 1}, {"read notes.txt", "a note", 2}, {"bash echo $((6*7))", "42", 2}, {"stream 120", "word118 word119", 1}} {
		s.forget()
		got := a.prompt(c.text)
		if n := len(s.requests()); !strings.Contains(got, c.want) || n != c.requests {
			t.Errorf("%q is answered with %q after %d requests, want %q after %d", c.text, got, n, c.want, c.requests)
		}
	}
}
