package tooling

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nimlet/session"
)

// A plain tool says nothing of permissions.
type plain struct {
	name   string
	schema string
	caps   []Capability
}

func (p plain) Spec() Spec {
	schema := p.schema
	if schema == "" {
		schema = `{"type": "object"}`
	}
	return Spec{Name: p.name, Schema: json.RawMessage(schema), Capabilities: p.caps}
}

func (plain) Run(context.Context, Env, session.Call) (session.Result, error) {
	return session.Result{}, nil
}

// A careful tool needs what it is made with, and shows what it would change.
type careful struct {
	plain
	need Need
}

func (c careful) Permission(session.Call) Need { return c.need }

func (careful) Preview(context.Context, session.Call) []session.Diff {
	return []session.Diff{{Path: "/f", New: "text"}}
}

func bash(key string) careful {
	return careful{plain{name: "bash"}, Need{Key: key, Subject: key, Remember: true}}
}

func dangerous(key string) careful {
	return careful{plain{name: "bash"}, Need{Key: key, Reason: "rm is asked about every time"}}
}

// A person answers questions with the same verdict and counts them.
type person struct {
	verdict Verdict
	err     error
	asked   []PermissionRequest
}

func (p *person) ask(_ context.Context, r PermissionRequest) (Verdict, error) {
	p.asked = append(p.asked, r)
	return p.verdict, p.err
}

// check runs one check and reports whether the call may run and whether the person was asked.
func check(t *testing.T, p *Permissions, tool Tool, who *person) (allowed, asked bool) {
	t.Helper()
	before := len(who.asked)
	denied, err := p.Check(t.Context(), tool, session.Call{Name: tool.Spec().Name}, who.ask)
	if err != nil {
		t.Fatal(err)
	}
	if denied != "" && !strings.HasPrefix(denied, "approval_denied: ") {
		t.Errorf("the model is told %q", denied)
	}
	return denied == "", len(who.asked) > before
}

func TestEachAnswerHasItsEffect(t *testing.T) {
	file := filepath.Join(t.TempDir(), "home", "grants.json")
	config := PermissionsConfig{Folder: "/work", GrantsFile: file}
	elsewhere := PermissionsConfig{Folder: "/other", GrantsFile: file}
	for _, test := range []struct {
		verdict                       Verdict
		allowed                       bool
		askedAgain, askedInNewSession bool
	}{
		{Reject, false, true, true},
		{Verdict(99), false, true, true},
		{AllowOnce, true, true, true},
		{AllowSession, true, false, true},
		{AllowProject, true, false, false},
	} {
		p, who := NewPermissions(config), &person{verdict: test.verdict}
		if allowed, asked := check(t, p, bash("bash:ls"), who); allowed != test.allowed || !asked {
			t.Errorf("verdict %d: allowed %v, asked %v", test.verdict, allowed, asked)
		}
		if _, asked := check(t, p, bash("bash:ls"), who); asked != test.askedAgain {
			t.Errorf("verdict %d: asked again %v", test.verdict, asked)
		}
		if _, asked := check(t, p, bash("bash:ls; rm x"), &person{}); !asked {
			t.Errorf("verdict %d covers a longer command", test.verdict)
		}
		if _, asked := check(t, NewPermissions(config), bash("bash:ls"), &person{}); asked != test.askedInNewSession {
			t.Errorf("verdict %d: asked in a new session %v", test.verdict, asked)
		}
		if _, asked := check(t, NewPermissions(elsewhere), bash("bash:ls"), &person{}); !asked {
			t.Errorf("verdict %d holds in another folder", test.verdict)
		}
	}
}

func TestWhatIsNeverRememberedIsAlwaysAsked(t *testing.T) {
	p := NewPermissions(PermissionsConfig{
		Allow:   []string{"bash:rm x", ""},
		Project: func() []string { return []string{"bash:rm x", ""} },
	})
	for _, key := range []string{"bash:rm x", ""} {
		who := &person{verdict: AllowSession}
		for range 2 {
			if allowed, asked := check(t, p, dangerous(key), who); !allowed || !asked {
				t.Errorf("key %q: allowed %v, asked %v", key, allowed, asked)
			}
		}
	}
}

func TestFreeCallsAndYoloAskNothing(t *testing.T) {
	who := &person{}
	p := NewPermissions(PermissionsConfig{})
	if allowed, asked := check(t, p, careful{plain{name: "read"}, Need{Free: true}}, who); !allowed || asked {
		t.Error("a free call was asked about")
	}
	p.SetYolo(true)
	if allowed, asked := check(t, p, dangerous("bash:rm x"), who); !p.Yolo() || !allowed || asked {
		t.Error("yolo asked")
	}
	p.SetYolo(false)
	if allowed, asked := check(t, p, bash("bash:ls"), who); allowed || !asked {
		t.Error("yolo holds after it was switched off")
	}
}

func TestToolsThatSayNothingAskTheFirstTime(t *testing.T) {
	p, who := NewPermissions(PermissionsConfig{}), &person{verdict: AllowSession}
	check(t, p, plain{name: "save_note"}, who)
	check(t, p, plain{name: "save_note"}, who)
	want := []PermissionRequest{{
		Call: session.Call{Name: "save_note"},
		Spec: plain{name: "save_note"}.Spec(),
		Need: Need{Key: "tool:save_note", Subject: "save_note", Remember: true},
	}}
	if diff := cmp.Diff(want, who.asked); diff != "" {
		t.Error(diff)
	}
}

func TestQuestionShowsWhatWouldChange(t *testing.T) {
	who := &person{}
	check(t, NewPermissions(PermissionsConfig{}), bash("bash:ls"), who)
	if len(who.asked[0].Diffs) != 1 {
		t.Errorf("got %+v", who.asked)
	}
}

// The answer to the first of several equal calls answers those that wait behind it.
func TestGrantGivenMeanwhileAnswersTheNext(t *testing.T) {
	p := NewPermissions(PermissionsConfig{})
	var group sync.WaitGroup
	open, questions := 0, 0 // unguarded on purpose: questions come one at a time
	for range 20 {
		group.Go(func() {
			denied, err := p.Check(t.Context(), bash("bash:ls"), session.Call{}, func(context.Context, PermissionRequest) (Verdict, error) {
				open++
				questions++
				if open > 1 {
					t.Error("two questions at once")
				}
				open--
				return AllowSession, nil
			})
			if denied != "" || err != nil {
				t.Errorf("denied %q, %v", denied, err)
			}
		})
	}
	group.Wait()
	if questions != 1 {
		t.Errorf("%d questions", questions)
	}
}

func TestUnansweredQuestionDenies(t *testing.T) {
	p := NewPermissions(PermissionsConfig{})
	denied, err := p.Check(t.Context(), bash("bash:ls"), session.Call{}, (&person{verdict: AllowSession, err: errors.New("client timed out")}).ask)
	if err != nil || !strings.HasPrefix(denied, "approval_denied: ") || !strings.Contains(denied, "client timed out") {
		t.Errorf("got %q, %v", denied, err)
	}
	if len(p.Grants()) > 0 {
		t.Errorf("granted %v", p.Grants())
	}
}

func TestNobodyToAsk(t *testing.T) {
	p := NewPermissions(PermissionsConfig{Allow: []string{"bash:go test ./..."}})
	for _, test := range []struct {
		tool Tool
		want []string // nil: allowed
	}{
		{bash("bash:go test ./..."), nil},
		{bash("bash:ls"), []string{"approval_denied: ", `--allow "bash:ls"`, "--yolo"}},
		{dangerous("bash:rm x"), []string{"approval_denied: ", "rm is asked about every time", "--yolo"}},
	} {
		denied, err := p.Check(t.Context(), test.tool, session.Call{}, nil)
		if err != nil || (denied == "") != (test.want == nil) {
			t.Errorf("got %q, %v", denied, err)
		}
		for _, part := range test.want {
			if !strings.Contains(denied, part) {
				t.Errorf("%q does not say %q", denied, part)
			}
		}
	}
}

func TestGrantsSurviveCancel(t *testing.T) {
	p := NewPermissions(PermissionsConfig{})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := p.Check(ctx, bash("bash:ls"), session.Call{}, func(context.Context, PermissionRequest) (Verdict, error) {
		cancel()
		return AllowSession, nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled check gave %v", err)
	}
	if _, asked := check(t, p, bash("bash:ls"), &person{}); asked {
		t.Error("the grant is lost")
	}
}

func TestCancelEndsTheWaitForAQuestion(t *testing.T) {
	p := NewPermissions(PermissionsConfig{})
	asked, release := make(chan struct{}), make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		_, _ = p.Check(t.Context(), bash("bash:a"), session.Call{}, func(context.Context, PermissionRequest) (Verdict, error) {
			close(asked)
			<-release
			return Reject, nil
		})
	})
	<-asked
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Check(ctx, bash("bash:b"), session.Call{}, (&person{}).ask); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(release)
	group.Wait()
}

func TestGrantsAndClear(t *testing.T) {
	file := filepath.Join(t.TempDir(), "grants.json")
	project := PermissionsConfig{Folder: "/a", GrantsFile: file, Allow: []string{"f"}, Project: func() []string { return []string{"s"} }}
	p := NewPermissions(project)
	check(t, p, bash("one"), &person{verdict: AllowSession})
	check(t, p, bash("two"), &person{verdict: AllowProject})
	check(t, NewPermissions(PermissionsConfig{Folder: "/b", GrantsFile: file}), bash("three"), &person{verdict: AllowProject})
	want := []Grant{{"f", ScopeFlag}, {"s", ScopeSettings}, {"two", ScopeProject}, {"one", ScopeSession}}
	if diff := cmp.Diff(want, p.Grants()); diff != "" {
		t.Error(diff)
	}
	if err := p.Clear(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want[:2], p.Grants()); diff != "" {
		t.Error(diff)
	}
	if _, asked := check(t, NewPermissions(PermissionsConfig{Folder: "/b", GrantsFile: file}), bash("three"), &person{}); asked {
		t.Error("clearing one folder took back the grants of another")
	}
}

func TestSessionsShareProjectGrants(t *testing.T) {
	config := PermissionsConfig{Folder: "/a", GrantsFile: filepath.Join(t.TempDir(), "grants.json")}
	one, two := NewPermissions(config), NewPermissions(config)
	check(t, two, bash("first"), &person{})
	check(t, one, bash("key"), &person{verdict: AllowProject})
	if _, asked := check(t, two, bash("key"), &person{}); asked {
		t.Error("the other session does not see the grant")
	}
	var group sync.WaitGroup
	for _, key := range strings.Split("a b c d e f g h i j k l m n", " ") {
		group.Go(func() { check(t, NewPermissions(config), bash(key), &person{verdict: AllowProject}) })
	}
	group.Wait()
	if n := len(one.Grants()); n != 15 {
		t.Errorf("%d of 15 grants are kept", n)
	}
}

func TestDamagedGrantsAreKeptAside(t *testing.T) {
	file := filepath.Join(t.TempDir(), "grants.json")
	const damaged = `{"folders": {"/a": ["bash:l`
	if err := os.WriteFile(file, []byte(damaged), 0o600); err != nil {
		t.Fatal(err)
	}
	var warnings []string
	p := NewPermissions(PermissionsConfig{Folder: "/a", GrantsFile: file, Warn: func(w string) { warnings = append(warnings, w) }})
	check(t, p, bash("one"), &person{})
	check(t, p, bash("one"), &person{})
	if len(warnings) != 1 || !strings.Contains(warnings[0], file) {
		t.Errorf("warnings %q, want one that names the file", warnings)
	}
	check(t, p, bash("one"), &person{verdict: AllowProject})
	kept, _ := filepath.Glob(file + ".damaged-*")
	if len(kept) != 1 || len(warnings) != 2 || !strings.Contains(warnings[1], kept[0]) {
		t.Fatalf("kept %q, warnings %q", kept, warnings)
	}
	if text, _ := os.ReadFile(kept[0]); string(text) != damaged {
		t.Errorf("kept %q", text)
	}
	if _, asked := check(t, NewPermissions(PermissionsConfig{Folder: "/a", GrantsFile: file}), bash("one"), &person{}); asked {
		t.Error("the new file lacks the grant")
	}
}

func TestGrantsThatCannotBeStoredHoldForTheSession(t *testing.T) {
	dir := t.TempDir()
	newer := filepath.Join(dir, "newer.json")
	const text = `{"version": 7, "keys": []}`
	if err := os.WriteFile(newer, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "folder.json")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{newer, folder, filepath.Join(newer, "below", "grants.json")} {
		warned := false
		p := NewPermissions(PermissionsConfig{Folder: "/a", GrantsFile: file, Warn: func(string) { warned = true }})
		if allowed, _ := check(t, p, bash("one"), &person{verdict: AllowProject}); !allowed || !warned {
			t.Errorf("%s: allowed %v, warned %v", file, allowed, warned)
		}
		if _, asked := check(t, p, bash("one"), &person{}); asked {
			t.Errorf("%s: the grant does not hold for the session", file)
		}
	}
	if got, _ := os.ReadFile(newer); string(got) != text {
		t.Errorf("a file of a later version was changed to %q", got)
	}
}

func TestParseKey(t *testing.T) {
	for text, want := range map[string]string{
		"bash:go test ./...": "bash:go test ./...", " bash: ls -l\n": "bash:ls -l", "bash:echo a:b": "bash:echo a:b", "tool:save_note": "tool:save_note",
		"": "", "ls": "", "bash": "", "bash:": "", "bash: ": "", "tool:": "", "Bash:ls": "", "shell:ls": "", ":ls": "",
	} {
		got, err := ParseKey(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q is the key %q, %v; want %q", text, got, err, want)
		}
	}
}
