package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// put writes a file below dir and returns its path.
func put(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// said returns problems one a line, the paths of their files cut down to base names.
func said(problems []Problem) string {
	var lines []string
	for _, p := range problems {
		p.File = filepath.Base(p.File)
		kind := "error "
		if p.Warning {
			kind = "warning "
		}
		lines = append(lines, kind+p.String())
	}
	return strings.Join(lines, "\n")
}

func TestDefaults(t *testing.T) {
	h := Home(t.TempDir())
	s, problems := Load(h, t.TempDir(), true, "")
	if problems != nil {
		t.Errorf("nothing there, and yet: %s", said(problems))
	}
	if diff := cmp.Diff(defaults(h), s); diff != "" {
		t.Errorf("not the defaults:\n%s", diff)
	}
	if s.Agent.MaxSteps != 200 || s.Agent.ReserveTokens != 16384 || s.Agent.KeepRecentTokens != 20000 ||
		s.Tools.Bash.MaxOutputBytes != 100000 || s.Agent.SteeringMode != "one-at-a-time" || s.Agent.SessionDir != filepath.Join(string(h), "sessions") {
		t.Errorf("defaults differ from what is documented: %+v", s)
	}
}

func TestFilesAreLaidOverEachOther(t *testing.T) {
	h, ws := Home(t.TempDir()), t.TempDir()
	one, two := filepath.Join(ws, "one"), filepath.Join(ws, "two")
	put(t, string(h), "config.json", `{
		"default_provider": "a", "agent": {"max_steps": 1, "max_tokens": 10, "reserve_tokens": 5},
		"providers": {"a": {"api_key": "k", "options": {"x": 1, "y": {"z": 1}}}},
		"extensions": {"paths": [`+strconv.Quote(one)+`], "isolated": ["i"]},
		"models": [{"id": "m1"}],
		"mcp": {"servers": {"s": {"command": "mine", "env": {"TOKEN": "t"}}, "other": {"command": "o"}}}}`)
	put(t, ws, ".nimlet/config.json", `{
		"agent": {"max_steps": 2, "max_tokens": 20},
		"providers": {"a": {"options": {"x": 2}}, "b": {"last_model": "bm"}},
		"extensions": {"paths": [`+strconv.Quote(two)+`], "isolated": ["j"]},
		"models": [{"id": "m2"}],
		"mcp": {"servers": {"s": {"command": "theirs"}}}}`)
	extra := put(t, t.TempDir(), "run.json", `{"agent": {"max_steps": 3}, "default_provider": null}`)

	s, problems := Load(h, ws, true, extra)
	if problems != nil {
		t.Fatal(said(problems))
	}
	want := defaults(h)
	want.DefaultProvider = "a" // null is no key
	want.Agent.MaxSteps, want.Agent.MaxTokens, want.Agent.ReserveTokens = 3, 20, 5
	want.Providers = map[string]Provider{
		"a": {APIKey: "k", Options: map[string]any{"x": json.Number("2"), "y": map[string]any{"z": json.Number("1")}}},
		"b": {LastModel: "bm"},
	}
	want.Extensions.Paths, want.Extensions.Isolated = []string{one, two}, []string{"j"}
	want.Models = []Model{{ID: "m1"}, {ID: "m2"}}
	want.MCP.Servers = map[string]MCPServer{"s": {Command: "theirs"}, "other": {Command: "o"}}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}

	if s, _ := Load(h, ws, false, ""); s.Agent.MaxSteps != 1 || len(s.Models) != 1 || s.MCP.Servers["s"].Env["TOKEN"] != "t" {
		t.Errorf("a project that is not trusted changed settings: %+v", s)
	}
}

func TestProjectCannotMoveSessionsOrKeys(t *testing.T) {
	h, ws := Home(t.TempDir()), t.TempDir()
	put(t, string(h), "config.json", `{"providers": {"anthropic": {"api_key": "secret"}}, "extensions": {"disabled": ["x"]}}`)
	put(t, ws, ".nimlet/config.json", `{
		"agent": {"session_dir": "/elsewhere"},
		"providers": {"anthropic": {"base_url": "https://evil.example", "api_key": "{file:/etc/passwd}", "headers": {"a": "b"}}},
		"extensions": {"disabled": ["guard"], "js_runtime": "./evil", "expose_api_keys": "always"}}`)
	s, problems := Load(h, ws, true, "")
	want := defaults(h)
	want.Providers = map[string]Provider{"anthropic": {APIKey: "secret"}}
	want.Extensions.Disabled = []string{"x"}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("a trusted project changed what is the user's:\n%s", diff)
	}
	for _, key := range []string{"agent.session_dir", "providers.anthropic.base_url", "providers.anthropic.api_key", "providers.anthropic.headers",
		"extensions.disabled", "extensions.js_runtime", "extensions.expose_api_keys"} {
		if !strings.Contains(said(problems), key+": a project's file cannot set it") {
			t.Errorf("nothing says that %s is ignored:\n%s", key, said(problems))
		}
	}
	if len(problems) != 7 {
		t.Errorf("%d problems, want 7:\n%s", len(problems), said(problems))
	}
}

func TestMistakesNameFileLineAndKey(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"unknown key", "{\n\n\"agent\": {\n\"max_step\": 3}}", "warning config.json:4: agent.max_step: there is no such setting; is it agent.max_steps?"},
		{"unknown case", `{"Agent": {}}`, "warning config.json:1: Agent: there is no such setting; is it agent?"},
		{"unlike anything", `{"zzzzzzzz": 1}`, "warning config.json:1: zzzzzzzz: there is no such setting"},
		{"a name with a dot", `{"a.b\n": 1}`, `warning config.json:1: "a.b\n": there is no such setting`},
		{"text for number", "{\"agent\":\n{\"max_steps\": \"many\"}}", "error config.json:2: agent.max_steps: want a whole number of at least 1, got a text; it is left out"},
		{"negative", `{"agent": {"max_steps": -1}}`, "error config.json:1: agent.max_steps: want a whole number of at least 1, got -1; it is left out"},
		{"zero", `{"agent": {"max_steps": 0}}`, "error config.json:1: agent.max_steps: want a whole number of at least 1, got 0; it is left out"},
		{"fraction", `{"agent": {"max_tokens": 1.5}}`, "error config.json:1: agent.max_tokens: want a whole number of at least 0, got 1.5; it is left out"},
		{"huge", `{"agent": {"max_tokens": 99999999999999999999}}`, "error config.json:1: agent.max_tokens: want a whole number of at least 0, got 99999999999999999999; it is left out"},
		{"seconds", `{"agent": {"request_timeout": "10s"}}`, "error config.json:1: agent.request_timeout: want a number of seconds, at least 1, got a text; it is left out"},
		{"many seconds", `{"agent": {"request_timeout": 1e300}}`, "error config.json:1: agent.request_timeout: want a number of seconds, at least 1, got 1e300; it is left out"},
		{"no such choice", `{"agent": {"title": "robot"}}`, `error config.json:1: agent.title: want "words" or "model", got "robot"; it is left out`},
		{"object for text", `{"default_model": {}}`, "error config.json:1: default_model: want a text, got an object; it is left out"},
		{"text for object", `{"agent": "x"}`, "error config.json:1: agent: want an object, got a text; it is left out"},
		{"number for bool", `{"agent": {"compaction_enabled": 1}}`, "error config.json:1: agent.compaction_enabled: want true or false, got a number; it is left out"},
		{"text for list", `{"extensions": {"isolated": "x"}}`, "error config.json:1: extensions.isolated: want a list, got a text; it is left out"},
		{"list of wrong", `{"extensions": {"isolated": [1]}}`, "error config.json:1: extensions.isolated[0]: want a text, got a number; it is left out"},
		{"a secret is not shown", `{"providers": {"x": {"api_key": ["sk-secret"]}}}`, "error config.json:1: providers.x.api_key: want a text, got a list; it is left out"},
		{"price", `{"models": [{"price": {"input": -1}}]}`, "error config.json:1: models[0].price.input: want a number, at least 0, got -1; it is left out"},
		{"no path", `{"agent": {"session_dir": ""}}`, "error config.json:1: agent.session_dir: want a path, got an empty text; it is left out"},
		{"map of wrong", `{"mcp": {"servers": ["x"]}}`, "error config.json:1: mcp.servers: want an object, got a list; it is left out"},
		{"no JSON", "{\n  \"agent\": {,}\n}", "error config.json: it is no JSON: line 2, column 13: invalid character ',' looking for beginning of object key string; the whole file is left out"},
		{"cut off", "{\n", "error config.json: it is no JSON: line 1, column 2: unexpected end of JSON input; the whole file is left out"},
		{"empty", "", "error config.json: it is no JSON: line 1, column 1: unexpected end of JSON input; the whole file is left out"},
		{"more behind", "{}\n{}", "error config.json: it is no JSON: line 2, column 1: invalid character '{' after top-level value; the whole file is left out"},
		{"no object", "[]", "error config.json: want a JSON object, got a list; the whole file is left out"},
		{"deep", strings.Repeat("[", 100000), "error config.json: it is no JSON: line 1, column 10001: invalid character '[' exceeded max depth; the whole file is left out"},
		{"large", `{"default_model": "` + strings.Repeat("x", maxFile) + `"}`, "error config.json: cannot be read, so it is left out: it is larger than 1048576 bytes"},
		{"byte order mark", "\ufeff{}", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := Home(t.TempDir())
			put(t, string(h), "config.json", test.text)
			s, problems := Load(h, "", false, "")
			if diff := cmp.Diff(test.want, said(problems)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			s.Models, s.Providers = nil, nil // an entry stays with what is right in it
			if diff := cmp.Diff(defaults(h), s, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("a mistake changed a setting:\n%s", diff)
			}
		})
	}
}

func TestABrokenFileLeavesTheOther(t *testing.T) {
	h, ws := Home(t.TempDir()), t.TempDir()
	put(t, string(h), "config.json", `{"agent": {"max_steps": 7}}`)
	put(t, ws, ".nimlet/config.json", `{"agent": `)
	s, problems := Load(h, ws, true, filepath.Join(ws, "missing.json"))
	if s.Agent.MaxSteps != 7 || len(problems) != 2 {
		t.Errorf("max_steps is %d and the problems are\n%s", s.Agent.MaxSteps, said(problems))
	}
	if want := "error missing.json: there is no such file; check the path given to --config"; !strings.HasSuffix(said(problems), want) {
		t.Errorf("problems are\n%s\nwant the last\n%s", said(problems), want)
	}
}

func TestRightPartsOfAnEntryCount(t *testing.T) {
	h := Home(t.TempDir())
	put(t, string(h), "config.json", `{"models": [{"id": "m", "context_window": 0}, 5, null], "providers": {"a": {"base_url": "u", "api_key": 1}, "b": 2}, "extensions": {"isolated": ["a", null, 3, "b"]}}`)
	s, problems := Load(h, "", false, "")
	if len(s.Models) != 1 || s.Models[0].ID != "m" || len(s.Providers) != 1 || s.Providers["a"].BaseURL != "u" {
		t.Errorf("models %+v, providers %+v", s.Models, s.Providers)
	}
	if diff := cmp.Diff([]string{"a", "b"}, s.Extensions.Isolated); diff != "" || len(problems) != 5 {
		t.Errorf("isolated %v, problems\n%s", s.Extensions.Isolated, said(problems))
	}
}

func TestPathsStartAtTheirFile(t *testing.T) {
	home, h, ws := t.TempDir(), Home(t.TempDir()), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	put(t, string(h), "config.json", `{"agent": {"session_dir": "~/s"}, "extensions": {"paths": ["x", "~"]}}`)
	put(t, ws, ".nimlet/config.json", `{"extensions": {"paths": ["../ext"]}}`)
	s, problems := Load(h, ws, true, "")
	if problems != nil {
		t.Fatal(said(problems))
	}
	want := []string{filepath.Join(string(h), "x"), home, filepath.Join(ws, "ext")}
	if diff := cmp.Diff(want, s.Extensions.Paths); diff != "" || s.Agent.SessionDir != filepath.Join(home, "s") {
		t.Errorf("session_dir %s, paths (-want +got):\n%s", s.Agent.SessionDir, diff)
	}
}

func TestAFileOfAnotherProgramSaysLittle(t *testing.T) {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "%q: 1,", fmt.Sprint("key", i))
	}
	h := Home(t.TempDir())
	put(t, string(h), "config.json", "{"+b.String()+`"x": 1}`)
	_, problems := Load(h, "", false, "")
	if last := problems[len(problems)-1].String(); len(problems) != most+1 || !strings.HasSuffix(last, "4981 more problems of this file are not shown") {
		t.Errorf("%d problems, the last: %s", len(problems), last)
	}
}

// blocks returns the fenced blocks of the documentation that begin with fence.
func blocks(t *testing.T, fence string) (text string, found []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?ms)^```"+fence+"\n(.*?)^```$").FindAllStringSubmatch(string(data), -1) {
		found = append(found, m[1])
	}
	return string(data), found
}

func TestDocumentationExamplesLoad(t *testing.T) {
	_, examples := blocks(t, "json")
	if len(examples) < 5 {
		t.Fatalf("found %d examples", len(examples))
	}
	all := Settings{}
	for _, example := range examples {
		file := put(t, t.TempDir(), "example.json", example)
		if problems := all.read(source{file: file}); problems != nil {
			t.Errorf("%s\nhas problems:\n%s", example, said(problems))
		}
	}
	for _, key := range leaves(reflect.ValueOf(all), "") {
		if key.zero && key.name != "agent.compaction_enabled" { // whose example is false
			t.Errorf("no example sets %s", key.name)
		}
	}
	_, permissions := blocks(t, "json permissions")
	ws := t.TempDir()
	put(t, ws, ".nimlet/permissions.json", permissions[0])
	if keys, problems := ProjectPermissions(ws); len(keys) != 2 || problems != nil {
		t.Errorf("the example of permissions gives %q and\n%s", keys, said(problems))
	}
}

func TestDocumentationHasEveryKey(t *testing.T) {
	text, _ := blocks(t, "json")
	documented := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| [^|]+ \\| ([^|]+) \\| [^|]+ \\|$").FindAllStringSubmatch(text, -1) {
		documented[m[1]] = strings.Trim(m[2], " `")
	}
	rich := Settings{
		Providers: map[string]Provider{"<name>": {}}, Models: []Model{{}},
		MCP: MCP{Servers: map[string]MCPServer{"<name>": {}}},
	}
	for _, key := range leaves(reflect.ValueOf(rich), "") {
		if _, ok := documented[key.name]; !ok {
			t.Errorf("%s is not documented", key.name)
		}
		delete(documented, key.name)
	}
	delete(documented, "models")
	for key := range documented {
		t.Errorf("%s is documented but no setting", key)
	}
	for _, user := range []string{"`providers.*.api_key`", "`providers.*.base_url`", "`providers.*.headers`", "`agent.session_dir`",
		"`extensions.disabled`", "`extensions.js_runtime`", "`extensions.expose_api_keys`"} {
		if !strings.Contains(text, user) {
			t.Errorf("it is not said that a project cannot set %s", user)
		}
	}
}

func TestDocumentedDefaultsHold(t *testing.T) {
	text, _ := blocks(t, "json")
	for _, key := range leaves(reflect.ValueOf(defaults("/home/.nimlet")), "") {
		if key.zero || key.name == "agent.session_dir" {
			continue
		}
		value := fmt.Sprint(key.value.Interface())
		if d, ok := key.value.Interface().(time.Duration); ok {
			value = fmt.Sprint(d.Seconds())
		}
		row := regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(key.name) + "` \\| [^|]+ \\| `?" + regexp.QuoteMeta(value) + "`? \\|")
		if !row.MatchString(text) {
			t.Errorf("the default of %s is %s, which is not what is documented", key.name, value)
		}
	}
}

type leaf struct {
	name  string
	value reflect.Value
	zero  bool
}

// leaves returns the keys below v, in the notation of the documentation.
func leaves(v reflect.Value, key string) (all []leaf) {
	switch {
	case v.Kind() == reflect.Struct:
		for i, name := range jsonNames(v.Type()) {
			all = append(all, leaves(v.Field(i), join(key, name))...)
		}
	case v.Kind() == reflect.Map && v.Type().Elem().Kind() == reflect.Struct && v.Len() > 0:
		if v.MapIndex(reflect.ValueOf("<name>")).IsValid() {
			return leaves(v.MapIndex(reflect.ValueOf("<name>")), key+".<name>")
		}
		merged := reflect.New(v.Type().Elem()).Elem() // what any entry sets is set
		for _, entry := range v.Seq2() {
			for i := range entry.NumField() {
				if !entry.Field(i).IsZero() {
					merged.Field(i).Set(entry.Field(i))
				}
			}
		}
		return leaves(merged, key)
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct && v.Len() > 0:
		return leaves(v.Index(0), key+"[]")
	default:
		return []leaf{{key, v, v.IsZero()}}
	}
	return all
}

// FuzzConfig checks that no file makes Load crash, leaves a setting out of its bounds, or is wrong
// without being named.
func FuzzConfig(f *testing.F) {
	for _, seed := range []string{"", "{}", "[", `{"agent":{"max_steps":1e3,"request_timeout":0.5}}`, `{"agent":null,"models":[{"price":{"input":1e400}}]}`,
		`{"providers":{"":{"options":{"a":[{}]}}},"mcp":{"servers":{"a":{"env":{"b":1}}}}}`, "{\"\xff\":1}", `{"a":1,"a":2}`, `{"extensions":{"paths":["~","\u0000",""]}}`} {
		f.Add([]byte(seed))
	}
	h := Home(f.TempDir())
	f.Fuzz(func(t *testing.T, data []byte) {
		s := defaults(h)
		problems := s.lay(source{file: h.ConfigFile()}, data)
		for _, p := range problems {
			if p.File != h.ConfigFile() || p.Text == "" || strings.ContainsAny(p.String(), "\n\r") {
				t.Errorf("a problem does not name its file in one line: %q", p.String())
			}
		}
		if s.Agent.MaxSteps < 1 || s.Agent.RequestTimeout < time.Second || s.Agent.MaxTokens < 0 || s.Tools.Bash.MaxOutputBytes < 1 ||
			!filepath.IsAbs(s.Agent.SessionDir) || s.ACP.FS != "auto" && s.ACP.FS != "client" {
			t.Errorf("settings out of bounds: %+v", s)
		}
		if !json.Valid(trimBOM(data)) && len(problems) == 0 {
			t.Error("what is no JSON was taken without a word")
		}
	})
}

func trimBOM(data []byte) []byte { return []byte(strings.TrimPrefix(string(data), "\ufeff")) }
