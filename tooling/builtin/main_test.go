package builtin

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"nimlet/session"
	"nimlet/tooling"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newConfig is a Config for a workspace in a folder of its own that holds files, by path.
func newConfig(t testing.TB, files map[string]string) Config {
	t.Helper()
	dir := realTemp(t)
	fillFolder(t, dir, files)
	w, err := NewWorkspace(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return Config{Workspace: w}
}

// realTemp is t.TempDir without links in its path.
func realTemp(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func fillFolder(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// args is the arguments of one call.
type args map[string]any

func callOf(t testing.TB, tool tooling.Tool, a args) session.Call {
	t.Helper()
	input, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return session.Call{ID: "1", Name: tool.Spec().Name, Input: input}
}

// run runs tool and fails the test when the host would have to hear of it.
func run(t testing.TB, tool tooling.Tool, a args) session.Result {
	t.Helper()
	r, err := tool.Run(t.Context(), tooling.Env{Progress: func(string) {}}, callOf(t, tool, a))
	if err != nil {
		t.Fatalf("%s: %v", tool.Spec().Name, err)
	}
	return r
}

// works runs tool, which has to succeed, and returns its output.
func works(t testing.TB, tool tooling.Tool, a args) string {
	t.Helper()
	r := run(t, tool, a)
	if r.IsError {
		t.Fatalf("%s %v failed: %s", tool.Spec().Name, a, r.Output)
	}
	return r.Output
}

// refuses runs tool, which has to fail in words that hold all of want.
func refuses(t testing.TB, tool tooling.Tool, a args, want ...string) {
	t.Helper()
	r := run(t, tool, a)
	if !r.IsError {
		t.Fatalf("%s %v succeeded: %s", tool.Spec().Name, a, r.Output)
	}
	for _, w := range want {
		if !strings.Contains(r.Output, w) {
			t.Errorf("%s %v said %q, which does not hold %q", tool.Spec().Name, a, r.Output, w)
		}
	}
}

func content(t testing.TB, c Config, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(c.Workspace.Root(), filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// cancelled is a context that has ended.
func cancelled(t testing.TB) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
