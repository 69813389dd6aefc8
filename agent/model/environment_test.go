package model_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"nimlet/agent/model"
)

const askAt = "NIMLET_TEST_ASK_AT"

// TestAskFromChild asks the model at the address in the environment; it is the child of those below, as
// a process reads its proxies and certificates but once.
func TestAskFromChild(t *testing.T) {
	base := os.Getenv(askAt)
	if base == "" {
		return // run by itself it has nothing to do
	}
	m := model.Hasty(model.New(model.Endpoint{Name: "child", Dialect: model.OpenAI, BaseURL: base}, "m", able))
	if got := ask(t, m, hello()); got.err != nil || got.text != "hi" {
		t.Errorf("%q, %v", got.text, got.err)
	}
	http.DefaultClient.CloseIdleConnections()
}

func greet(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = w.Write([]byte(`data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}` + "\n\ndata: [DONE]\n\n"))
}

func askFromChild(t *testing.T, base string, environment ...string) error {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAskFromChild$")
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(strings.ToUpper(v), "="); !strings.HasSuffix(name, "_PROXY") && !strings.HasPrefix(name, "SSL_CERT") {
			child.Env = append(child.Env, v)
		}
	}
	child.Env = append(append(child.Env, environment...), askAt+"="+base)
	out, err := child.CombinedOutput()
	if err != nil {
		t.Logf("%s", out)
	}
	return err
}

func TestTheProxyOfTheEnvironmentIsUsed(t *testing.T) {
	var asked string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.String()
		greet(w, r)
	}))
	defer proxy.Close()
	if err := askFromChild(t, "http://model.invalid/v1", "HTTP_PROXY="+proxy.URL); err != nil {
		t.Error(err)
	}
	if asked != "http://model.invalid/v1/chat/completions" {
		t.Errorf("the proxy was asked for %q", asked)
	}
}

func TestTheCertificatesOfTheEnvironmentAreTrusted(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return // there the system's own store is asked, and the variable means nothing
	}
	server := httptest.NewTLSServer(http.HandlerFunc(greet))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(file, block, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := askFromChild(t, server.URL, "SSL_CERT_FILE="+file); err != nil {
		t.Error(err)
	}
}
