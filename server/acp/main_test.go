package acp_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
	"go.uber.org/zap/zaptest"

	"nimlet/agent/config"
	"nimlet/internal/acptest"
	"nimlet/server"
	"nimlet/server/acp"
	"nimlet/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A desk is an editor with the agent it talks to, a workspace and a home, all in one process.
type desk struct {
	*acptest.Editor
	t    testing.TB
	dir  string // the workspace
	home config.Home

	in   io.WriteCloser
	done chan error
}

// sit makes a desk in an empty workspace; change may alter how nimlet was started.
func sit(t testing.TB, change func(*server.Options)) *desk {
	t.Helper()
	d := &desk{t: t, dir: folder(t), home: config.Home(filepath.Join(folder(t), ".nimlet"))}
	d.start(change)
	return d
}

// folder is an empty folder whose path has no links in it.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func (d *desk) start(change func(*server.Options)) {
	d.t.Helper()
	o := server.Options{Version: "test", Home: d.home, Choice: server.Choice{Provider: "offline"}, Environ: os.Environ(), Logger: zaptest.NewLogger(d.t)}
	if change != nil {
		change(&o)
	}
	srv := server.New(o)
	agentIn, editorOut := io.Pipe()
	editorIn, agentOut := io.Pipe()
	d.in, d.done = editorOut, make(chan error, 1)
	go func() {
		ctx := context.Background()
		err := transport.Serve(ctx, agentIn, agentOut, transport.Options{Dialect: transport.ACP, Log: o.Logger},
			acp.Handler(ctx, srv, "test", o.Logger))
		if closeErr := srv.Shutdown(ctx); err == nil {
			err = closeErr
		}
		agentOut.Close()
		d.done <- err
	}()
	d.Editor = acptest.Connect(d.t, editorOut, editorIn)
	d.t.Cleanup(d.leave)
}

// leave closes the connection and waits for the agent to end.
func (d *desk) leave() {
	d.t.Helper()
	if d.in == nil {
		return
	}
	d.in.Close()
	d.in = nil
	if err := <-d.done; err != nil {
		d.t.Errorf("the agent ended with %v", err)
	}
	<-d.Ended()
}

// again closes the connection and opens another, as a restarted editor does.
func (d *desk) again(change func(*server.Options)) {
	d.t.Helper()
	d.leave()
	d.start(change)
}

// configure writes the user's settings. They are read when the agent starts.
func (d *desk) configure(text string) {
	d.t.Helper()
	if err := os.MkdirAll(string(d.home), 0o700); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(string(d.home), "config.json"), []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// storedSession returns the files of a session as they are now, by name.
func (d *desk) storedSession(id string) map[string]string {
	d.t.Helper()
	names, err := filepath.Glob(filepath.Join(d.home.SessionsDir(), id+".*"))
	if err != nil || len(names) == 0 {
		d.t.Fatalf("session %s has the files %q (%v)", id, names, err)
	}
	files := map[string]string{}
	for _, name := range names {
		if data, err := os.ReadFile(name); err == nil {
			files[name] = string(data)
		}
	}
	return files
}

// restore makes the files of a session what they were.
func (d *desk) restore(id string, files map[string]string) {
	d.t.Helper()
	for name := range d.storedSession(id) {
		if err := os.Remove(name); err != nil && filepath.Ext(name) != ".output" {
			d.t.Fatal(err)
		}
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			d.t.Fatal(err)
		}
	}
}

func (d *desk) write(name, text string) {
	d.t.Helper()
	path := filepath.Join(d.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) read(name string) string {
	d.t.Helper()
	data, err := os.ReadFile(filepath.Join(d.dir, name))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(data)
}

type jsonRaw = json.RawMessage
