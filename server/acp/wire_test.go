package acp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"go.uber.org/zap"

	"nimlet/agent/config"
	"nimlet/internal/acptest"
	"nimlet/server"
	"nimlet/server/acp"
	"nimlet/transport"
)

var update = flag.Bool("update", false, "rewrite what the agent says in ../testdata/wire")

// TestWire plays the dialogues of ../testdata/wire. Each is an archive: a comment that says what it
// shows, files of the workspace, and, as "dialogue", these lines:
//
//	# comment
//	-> what the client sends
//	~> the same, where the order of what follows is left open: it is sorted here
//	<- what the agent sends, all of it, until it has nothing left to do
//
// In them "SESSION1" and so on stand for ids of sessions, /workspace and /home for folders, TIME for
// a point in time and USED for a count of tokens. With -update the lines of the agent are rewritten.
//
// A dialogue is played in a bubble: that the agent has nothing left to do is a fact there, and no
// clock runs but the bubble's own.
func TestWire(t *testing.T) {
	files, err := filepath.Glob("../testdata/wire/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no dialogues: %v", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			w := &wire{dir: folder(t), home: folder(t), sessions: map[string]string{}}
			dialogue := w.unpack(t, archive)
			want := string(dialogue.Data)
			var got string
			emptyPools()
			defer emptyPools()
			synctest.Test(t, func(t *testing.T) { got = w.play(t, want) })
			if *update {
				dialogue.Data = []byte(got)
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("(-%s +now; go test ./server/acp -run Wire -update rewrites it):\n%s", name, diff)
			}
		})
	}
}

// emptyPools has the pools of the libraries forget their channels, which must not be used both inside
// and outside a bubble. A pool survives one collection.
func emptyPools() {
	runtime.GC()
	runtime.GC()
}

// A wire is one connection, and what its dialogue knows.
type wire struct {
	dir, home string
	sessions  map[string]string // ids, by placeholder
	in        io.Writer

	mu    sync.Mutex
	lines [][]byte // that the agent wrote and nobody took yet
}

// unpack writes the files of an archive into the workspace, and returns its dialogue.
func (w *wire) unpack(t *testing.T, archive *txtar.Archive) (dialogue *txtar.File) {
	for i := range archive.Files {
		f := &archive.Files[i]
		if f.Name == "dialogue" {
			dialogue = f
			continue
		}
		path := filepath.Join(w.dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if dialogue == nil {
		t.Fatal("there is no dialogue")
	}
	return dialogue
}

// play sends the client's lines and returns the dialogue as it went.
func (w *wire) play(t *testing.T, script string) string {
	hangUp := w.connect()
	record, err := acptest.NewRecord()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for line := range strings.Lines(script) {
		if strings.HasPrefix(line, "<- ") {
			continue
		}
		out.WriteString(line)
		mark, sent, _ := strings.Cut(line, " ")
		if mark != "->" && mark != "~>" {
			continue
		}
		sent = w.expand(sent)
		record.Client([]byte(sent))
		if _, err := io.WriteString(w.in, sent); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		var answer []string
		for _, said := range w.take() {
			if err := record.Agent(said); err != nil {
				t.Errorf("after %s: %v", line, err)
			}
			answer = append(answer, "<- "+w.normal(string(bytes.TrimSpace(said)))+"\n")
		}
		if mark == "~>" {
			slices.Sort(answer)
		}
		out.WriteString(strings.Join(answer, ""))
	}
	if err := hangUp(); err != nil {
		t.Error(err)
	}
	if open := record.Unanswered(); len(open) > 0 {
		t.Errorf("never answered: %v", open)
	}
	return out.String()
}

// connect starts an agent. hangUp closes its input and waits for it to end.
func (w *wire) connect() (hangUp func() error) {
	srv := server.New(server.Options{
		Version: "1.2.3", Home: config.Home(filepath.Join(w.home, ".nimlet")), Environ: os.Environ(), Logger: zap.NewNop(), Choice: server.Choice{Provider: "offline"},
	})
	agentIn, clientOut := io.Pipe()
	clientIn, agentOut := io.Pipe()
	w.in = clientOut
	done := make(chan error, 1)
	go func() {
		ctx := context.Background()
		err := transport.Serve(ctx, agentIn, agentOut, transport.Options{Dialect: transport.ACP, Log: zap.NewNop()},
			acp.Handler(ctx, srv, "1.2.3", zap.NewNop()))
		if closeErr := srv.Shutdown(ctx); err == nil {
			err = closeErr
		}
		_ = agentOut.Close()
		done <- err
	}()
	go w.listen(clientIn)
	return func() error {
		_ = clientOut.Close()
		return <-done
	}
}

func (w *wire) listen(from io.Reader) {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		w.mu.Lock()
		w.lines = append(w.lines, line)
		w.mu.Unlock()
	}
}

func (w *wire) take() [][]byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := w.lines
	w.lines = nil
	return lines
}

// expand puts what is meant in the place of placeholders.
func (w *wire) expand(line string) string {
	for placeholder, id := range w.sessions {
		line = strings.ReplaceAll(line, `"`+placeholder+`"`, `"`+id+`"`)
	}
	return strings.ReplaceAll(line, "/workspace", inJSON(w.dir))
}

var (
	sessionID = regexp.MustCompile(`"sessionId":"([^"]+)"`)
	instant   = regexp.MustCompile(`"updatedAt":"[^"]+"`)
	used      = regexp.MustCompile(`"used":\d+`)
	took      = regexp.MustCompile(`after \d+(\.\d+)?m?s`)
	below     = regexp.MustCompile(`(/workspace|/home)(\\\\[^"\\]+)+`) // on Windows
)

// normal puts placeholders in the place of what is another each time.
func (w *wire) normal(line string) string {
	for _, match := range sessionID.FindAllStringSubmatch(line, -1) {
		w.name(match[1])
	}
	for placeholder, id := range w.sessions {
		line = strings.ReplaceAll(line, id, placeholder)
	}
	line = strings.ReplaceAll(line, inJSON(w.dir), "/workspace")
	line = strings.ReplaceAll(line, inJSON(w.home), "/home")
	line = below.ReplaceAllStringFunc(line, func(path string) string { return strings.ReplaceAll(path, `\\`, "/") })
	line = instant.ReplaceAllString(line, `"updatedAt":"TIME"`)
	line = took.ReplaceAllString(line, "after 1ms")
	return used.ReplaceAllString(line, `"used":"USED"`)
}

func (w *wire) name(id string) {
	for placeholder, known := range w.sessions {
		if known == id || placeholder == id {
			return
		}
	}
	w.sessions[fmt.Sprintf("SESSION%d", len(w.sessions)+1)] = id
}

func inJSON(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		return s
	}
	return string(data[1 : len(data)-1])
}
