package acp_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"nimlet/agent/config"
	"nimlet/agent/model"
	"nimlet/internal/modeltest"
	"nimlet/server"
)

// A hiding place is one way to configure a key.
type hidingPlace struct {
	apiKey   string // api_key in the settings; "" for none
	variable string // an environment variable that holds the key; "" for none
	file     string // a file in the home that holds more than the settings; "" for none
	text     string // what it holds
}

// hidingPlaces are all ways there are (spec: files).
var hidingPlaces = map[string]hidingPlace{
	"literal":             {apiKey: modeltest.Key},
	"env":                 {apiKey: "{env:MY_OWN_VARIABLE}", variable: "MY_OWN_VARIABLE"},
	"file":                {apiKey: "{file:key.txt}", file: "key.txt", text: modeltest.Key + "\n"},
	"well-known variable": {variable: "ANTHROPIC_API_KEY"},
	"auth.json":           {file: "auth.json", text: `{"anthropic":{"type":"api_key","key":"` + modeltest.Key + `"}}`},
}

// A witness keeps all that could give a key away.
type witness struct {
	*desk
	where hidingPlace
	logs  *observer.ObservedLogs
	opts  server.Options
}

// hide sits down at a desk whose key for m is in one of the hiding places.
func hide(t *testing.T, m *modeltest.Server, where hidingPlace) *witness {
	t.Helper()
	d := &desk{t: t, dir: folder(t), home: config.Home(filepath.Join(folder(t), ".nimlet"))}
	key := ""
	if where.apiKey != "" {
		key = fmt.Sprintf(`,"api_key":%q`, where.apiKey)
	}
	d.configure(fmt.Sprintf(`{"default_provider":"anthropic","providers":{"anthropic":{"base_url":%q%s}}}`, m.URL(), key))
	if where.file != "" {
		if err := os.WriteFile(filepath.Join(string(d.home), where.file), []byte(where.text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	core, logs := observer.New(zapcore.DebugLevel)
	w := &witness{desk: d, where: where, logs: logs}
	d.start(func(o *server.Options) {
		o.Choice, o.Yolo, o.Logger = server.Choice{}, true, zap.New(core)
		o.Environ = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ANTHROPIC_") })
		if where.variable != "" {
			o.Environ = append(o.Environ, where.variable+"="+modeltest.Key)
		}
		w.opts = *o
	})
	d.Initialize(`{}`)
	return w
}

func TestAKeyIsInTheRequestAloneHoweverItIsConfigured(t *testing.T) {
	for name, where := range hidingPlaces {
		t.Run(name, func(t *testing.T) {
			m := modeltest.New(t, model.Anthropic)
			w := hide(t, m, where)
			id := w.New(w.dir)
			m.Reply(modeltest.Call("bash", `{"command":"env; echo that was all"}`))
			m.Reply(modeltest.Text("ok"))
			w.Say(id, "print the environment")
			requests := m.Requests() // which were checked to carry the key
			if result := requests[1].Pieces[len(requests[1].Pieces)-1]; !strings.Contains(result.Text, "PATH=") || !strings.Contains(result.Text, "that was all") {
				t.Errorf("the command printed no environment: %s", result.Text)
			}
			m.Reply(modeltest.Fail(401, `{"type":"error","error":{"type":"authentication_error","message":"no such key: `+modeltest.Key+`"}}`))
			_, err := w.Prompt(id, "and now?").Answer()
			if err == nil || !strings.Contains(err.Message, "no such key") {
				t.Errorf("answered %v", err)
			}
			m.Reply(modeltest.Fail(503, `overloaded, says `+modeltest.Key, "Retry-After", "0", "Content-Type", "text/plain"))
			m.Reply(modeltest.ErrorEvent("invalid_request_error", "refused: "+modeltest.Key))
			_, again := w.Prompt(id, "again").Answer()
			w.lacksKey("the errors", fmt.Sprintf("%s %s %v", err.Message, err.Data, again))
			for _, command := range []string{"/doctor", "/model", "/provider", "/stats"} {
				w.Say(id, command)
			}
			m.Reply(modeltest.Fail(401, `no such key: `+modeltest.Key))
			w.Say(id, "/doctor test")
			w.searched(requests)
		})
	}
}

// searched looks wherever the key could have come to.
func (w *witness) searched(requests []modeltest.Request) {
	w.t.Helper()
	w.lacksKey("what the editor was shown", fmt.Sprint(w.Updates("")))
	for i, r := range requests {
		w.lacksKey(fmt.Sprintf("the body of request %d", i+1), string(r.Raw))
	}
	w.leave()
	w.lacksKey("doctor", w.doctor())
	logged := w.logs.All()
	if len(logged) == 0 {
		w.t.Error("nothing was logged, so that nothing could be found there")
	}
	encoder := zapcore.NewJSONEncoder(zap.NewDevelopmentEncoderConfig())
	for _, entry := range logged {
		line, err := encoder.EncodeEntry(entry.Entry, entry.Context)
		if err != nil {
			w.t.Fatal(err)
		}
		w.lacksKey("the log", line.String())
	}
	own := map[string]bool{filepath.Join(string(w.home), w.where.file): true}
	if w.where.apiKey == modeltest.Key {
		own[w.home.ConfigFile()] = true
	}
	for path, text := range w.files() {
		if !own[path] {
			w.lacksKey(path, text)
		}
	}
}

// doctor returns what the command line's doctor says.
func (w *witness) doctor() string {
	w.t.Helper()
	srv := server.New(w.opts)
	lines, _ := srv.Doctor(w.t.Context(), w.dir, false)
	if err := srv.Shutdown(w.t.Context()); err != nil {
		w.t.Error(err)
	}
	if text := strings.Join(lines, "\n"); strings.Contains(text, "anthropic: set, from ") {
		return text
	}
	w.t.Errorf("doctor does not know of the key: %s", lines)
	return ""
}

// files returns all that lies in the home and the workspace, by path.
func (w *witness) files() map[string]string {
	w.t.Helper()
	found := map[string]string{}
	for _, root := range []string{string(w.home), w.dir} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			found[path] = string(data)
			return err
		})
		if err != nil {
			w.t.Error(err)
		}
	}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(found)), func(path string) bool { return filepath.Dir(path) == w.home.SessionsDir() }) {
		w.t.Error("there is no session file to look into")
	}
	return found
}

// lacksKey fails if text has the key, or the greater part of it.
func (w *witness) lacksKey(place, text string) {
	w.t.Helper()
	if part := modeltest.Key[:16]; strings.Contains(text, part) {
		at := strings.Index(text, part)
		w.t.Errorf("%s has the key: …%s", place, text[max(0, at-80):min(len(text), at+40)])
	}
}
