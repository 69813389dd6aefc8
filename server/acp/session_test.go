package acp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nimlet/internal/acptest"
	"nimlet/server"
)

// picture is what a person sees after all updates: messages by id, and cards by call, in order of
// their first appearance.
func picture(updates []acptest.Update) []string {
	var order []string
	texts := map[string]string{}
	cards := map[string]map[string]any{}
	for _, u := range updates {
		switch u.Kind {
		case "user_message_chunk", "agent_message_chunk", "agent_thought_chunk":
			key := u.Kind + " " + u.String("messageId")
			if _, seen := texts[key]; !seen {
				order = append(order, key)
			}
			texts[key] += u.Text()
		case "tool_call", "tool_call_update":
			id := u.String("toolCallId")
			if cards[id] == nil {
				cards[id] = map[string]any{}
				order = append(order, id)
			}
			for k, v := range u.Body {
				if k != "sessionUpdate" {
					cards[id][k] = v
				}
			}
		}
	}
	list := make([]string, len(order))
	for i, key := range order {
		if card, ok := cards[key]; ok {
			list[i] = fmt.Sprintf("%s %v", key, card)
		} else {
			list[i] = key + ": " + texts[key]
		}
	}
	return list
}

func TestLoadShowsWhatWasStreamed(t *testing.T) {
	d := sit(t, nil)
	d.write("a.txt", "alpha\nbeta\n")
	d.Initialize(`{}`)
	id := d.New(d.dir)
	d.Say(id, "hello")
	d.Say(id, "read a.txt\ngrep beta\nedit {\"path\":\"a.txt\",\"old_text\":\"beta\",\"new_text\":\"gamma\"}\nread nosuch.txt")
	d.Say(id, "/plan")
	live := picture(d.Updates(id))

	d.again(nil)
	d.Initialize(`{}`)
	load := d.Go("session/load", map[string]any{"sessionId": id, "cwd": d.dir, "mcpServers": []any{}})
	if _, err := load.Answer(); err != nil {
		t.Fatal(err)
	}
	var replayed []string
	for _, line := range picture(d.Updates(id)) {
		if !strings.HasPrefix(line, "user_message_chunk") {
			replayed = append(replayed, line)
		}
	}
	if diff := cmp.Diff(live, replayed); diff != "" {
		t.Errorf("the replay differs (-streamed +replayed):\n%s", diff)
	}
	if text := acptest.Text(d.Updates(id), "user_message_chunk"); !strings.HasPrefix(text, "helloread a.txt\n") || !strings.HasSuffix(text, "/plan") {
		t.Errorf("the person's own messages are replayed as %q", text)
	}
}

func TestReplayComesBeforeTheAnswerAndCommandsAfterIt(t *testing.T) {
	d := sit(t, nil)
	d.Initialize(`{}`)
	id := d.New(d.dir)
	commands := d.Await(func(u acptest.Update) bool { return u.Kind == "available_commands_update" })
	if commands.SessionID != id {
		t.Errorf("commands of session %q, want %q", commands.SessionID, id)
	}
	d.Say(id, "hello")
	d.again(nil)
	d.Initialize(`{}`)
	d.Load(id, d.dir)
	var kinds []string
	d.Await(func(u acptest.Update) bool { return u.Kind == "available_commands_update" })
	for _, u := range d.Updates(id) {
		kinds = append(kinds, u.Kind)
	}
	if kinds[0] != "user_message_chunk" || kinds[len(kinds)-1] != "available_commands_update" {
		t.Errorf("updates %v", kinds)
	}
}

func TestResumeShowsNothingAndGoesOn(t *testing.T) {
	d := sit(t, nil)
	d.Initialize(`{}`)
	id := d.New(d.dir)
	d.Say(id, "hello")
	d.again(nil)
	d.Initialize(`{}`)
	d.Call("session/resume", map[string]any{"sessionId": id, "cwd": d.dir}, nil)
	d.Await(func(u acptest.Update) bool { return u.Kind == "available_commands_update" })
	if n := len(d.Updates(id)); n != 1 {
		t.Errorf("resume sent %d updates, want the commands alone", n)
	}
	d.Say(id, "go on")
}

func TestModeIsKeptOverARestart(t *testing.T) {
	d := sit(t, nil)
	d.Initialize(`{}`)
	id := d.New(d.dir)
	d.Say(id, "hello")
	d.Call("session/set_config_option", map[string]any{"sessionId": id, "configId": "mode", "value": "plan"}, nil)
	d.again(nil)
	d.Initialize(`{}`)
	var r struct {
		Modes         struct{ CurrentModeID string }
		ConfigOptions []struct{ CurrentValue string }
	}
	d.Call("session/load", map[string]any{"sessionId": id, "cwd": d.dir, "mcpServers": []any{}}, &r)
	if r.Modes.CurrentModeID != "plan" || r.ConfigOptions[0].CurrentValue != "plan" {
		t.Errorf("after a restart: %+v", r)
	}
}

func TestEveryWayToChangeTheModeTellsBothKindsOfClient(t *testing.T) {
	d := sit(t, nil)
	d.Initialize(`{}`)
	id := d.New(d.dir)
	for i, change := range []func(){
		func() { d.Call("session/set_mode", map[string]any{"sessionId": id, "modeId": "plan"}, nil) },
		func() {
			d.Call("session/set_config_option", map[string]any{"sessionId": id, "configId": "mode", "value": "act"}, nil)
		},
		func() { d.Say(id, "/plan") },
		func() { d.Say(id, "/act") },
	} {
		before := len(d.Updates(id))
		change()
		var kinds []string
		for _, u := range d.Updates(id)[before:] {
			if u.Kind == "current_mode_update" || u.Kind == "config_option_update" {
				kinds = append(kinds, u.Kind)
			}
		}
		if got := strings.Join(kinds, " "); got != "current_mode_update config_option_update" {
			t.Errorf("change %d sent %q", i, got)
		}
	}
}

func TestListPagesNewestFirstAndFiltersByFolder(t *testing.T) {
	d := sit(t, nil)
	other := folder(t)
	d.Initialize(`{}`)
	for i := range 60 {
		d.Say(d.New(d.dir), fmt.Sprintf("message %d", i))
	}
	d.Say(d.New(other), "elsewhere")
	type page struct {
		Sessions   []struct{ SessionID, Cwd, Title, UpdatedAt string }
		NextCursor string
	}
	var first, second, elsewhere page
	d.Call("session/list", map[string]any{"cwd": d.dir + "/"}, &first)
	d.Call("session/list", map[string]any{"cwd": d.dir, "cursor": first.NextCursor}, &second)
	d.Call("session/list", map[string]any{"cwd": other}, &elsewhere)
	if len(first.Sessions) != 50 || len(second.Sessions) != 10 || second.NextCursor != "" || len(elsewhere.Sessions) != 1 {
		t.Fatalf("pages of %d and %d, elsewhere %d", len(first.Sessions), len(second.Sessions), len(elsewhere.Sessions))
	}
	if first.Sessions[0].Title != "message 59" || second.Sessions[9].Title != "message 0" {
		t.Errorf("first is %q, last is %q", first.Sessions[0].Title, second.Sessions[9].Title)
	}
}

func TestListKeepsIdsTitlesAndTimesOverARestartAndARename(t *testing.T) {
	type entry struct{ SessionID, Title, UpdatedAt string }
	list := func(d *desk) []entry {
		var r struct{ Sessions []entry }
		d.Call("session/list", map[string]any{}, &r)
		return r.Sessions
	}
	d := sit(t, nil)
	d.Initialize(`{}`)
	id := d.New(d.dir)
	d.Say(id, "hello")
	d.Say(id, "/name a better title")
	before := list(d)
	d.again(nil)
	d.Initialize(`{}`)
	after := list(d)
	if len(after) != 1 || after[0].Title != "a better title" || after[0].SessionID != id {
		t.Errorf("after a restart: %+v", after)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

func TestDeleteMovesToTheTrashAndTwiceIsFine(t *testing.T) {
	d := sit(t, nil)
	d.Initialize(`{}`)
	id := d.New(d.dir)
	d.Say(id, "hello")
	for range 2 {
		d.Call("session/delete", map[string]any{"sessionId": id}, nil)
	}
	if err := d.Fail("session/load", map[string]any{"sessionId": id, "cwd": d.dir, "mcpServers": []any{}}); err.Code != -32002 {
		t.Error(err)
	}
	if kept, _ := filepath.Glob(filepath.Join(d.home.SessionsDir(), ".trash", id+"*")); len(kept) == 0 {
		t.Error("nothing is in the trash")
	}
}

func TestASessionThatWasNeverPromptedLeavesNoFile(t *testing.T) {
	d := sit(t, nil)
	d.Initialize(`{}`)
	d.New(d.dir)
	d.leave()
	if files, _ := os.ReadDir(d.home.SessionsDir()); len(files) > 0 {
		t.Errorf("left behind: %v", files)
	}
}

func TestLoadElsewhereWorksThere(t *testing.T) {
	d := sit(t, nil)
	other := folder(t)
	if err := os.WriteFile(filepath.Join(other, "a.txt"), []byte("the other one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	d.write("a.txt", "this one\n")
	d.Initialize(`{}`)
	id := d.New(d.dir)
	d.Say(id, "read a.txt")
	d.Load(id, other)
	if text := acptest.Text(d.Say(id, "read a.txt"), "agent_message_chunk"); !strings.Contains(text, "the other one") {
		t.Errorf("a relative path resolves in the old folder: %q", text)
	}
}

func TestAdditionalDirectoriesAreTouchedAndNothingBeyond(t *testing.T) {
	d := sit(t, nil)
	more, beyond := folder(t), folder(t)
	for _, dir := range []string{more, beyond} {
		if err := os.WriteFile(filepath.Join(dir, "x.txt"), []byte("content of x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d.Initialize(`{}`)
	var r struct{ SessionID string }
	d.Call("session/new", map[string]any{"cwd": d.dir, "mcpServers": []any{}, "additionalDirectories": []string{more}}, &r)
	if text := acptest.Text(d.Say(r.SessionID, "read "+filepath.Join(more, "x.txt")), "agent_message_chunk"); !strings.Contains(text, "content of x") {
		t.Errorf("an additional directory is out of reach: %q", text)
	}
	if text := acptest.Text(d.Say(r.SessionID, "read "+filepath.Join(beyond, "x.txt")), "agent_message_chunk"); strings.Contains(text, "content of x") {
		t.Errorf("a file outside was read: %q", text)
	}
}

func TestOpeningAndClosingOthersLeavesASessionAtWork(t *testing.T) {
	d := sit(t, func(o *server.Options) { o.Yolo = true })
	d.Initialize(`{}`)
	a := d.New(d.dir)
	other := d.New(d.dir)
	d.Say(other, "hello")
	turn := d.Prompt(a, "bash sleep 1; echo finished")
	d.Await(acptest.Status("in_progress"))
	d.New(d.dir)
	d.Load(other, d.dir)
	d.Call("session/close", map[string]any{"sessionId": other}, nil)
	turn.Wait("end_turn")
	if text := acptest.Text(d.Updates(a), "agent_message_chunk"); !strings.Contains(text, "finished") {
		t.Errorf("the turn's answer is %q", text)
	}
}

func TestASecondProcessIsToldWhoHoldsTheSession(t *testing.T) {
	d := sit(t, nil)
	d.Initialize(`{}`)
	id := d.New(d.dir)
	d.Say(id, "hello")
	second := &desk{t: t, dir: d.dir, home: d.home}
	second.start(nil)
	second.Initialize(`{}`)
	err := second.Fail("session/load", map[string]any{"sessionId": id, "cwd": d.dir, "mcpServers": []any{}})
	if !strings.Contains(err.Message, fmt.Sprint(os.Getpid())) {
		t.Errorf("the error does not name the holder: %v", err)
	}
}

func TestMCPServersAreAcceptedWithOneWarning(t *testing.T) {
	d := sit(t, nil)
	d.Initialize(`{"session":{"notices":{}}}`)
	var r struct{ SessionID string }
	stdio := map[string]any{"name": "x", "command": "/bin/x", "args": []any{}, "env": []any{}}
	d.Call("session/new", map[string]any{"cwd": d.dir, "mcpServers": []any{stdio, stdio}}, &r)
	warnings := 0
	for range 2 {
		for _, u := range d.Say(r.SessionID, "hello") {
			if u.Kind == "notice" && strings.Contains(u.String("title"), "MCP") {
				warnings++
			}
		}
	}
	if warnings != 1 {
		t.Errorf("%d warnings, want one", warnings)
	}
}

func TestNewBeginsAnewUnderTheIdTheEditorKnows(t *testing.T) {
	d := sit(t, nil)
	d.Initialize(`{}`)
	id := d.New(d.dir)
	d.Say(id, "the first conversation")
	d.Say(id, "/new")
	d.Say(id, "the second conversation")
	var r struct{ Sessions []struct{ Title string } }
	d.Call("session/list", map[string]any{}, &r)
	titles := fmt.Sprint(r.Sessions)
	if len(r.Sessions) != 2 || !strings.Contains(titles, "first") || !strings.Contains(titles, "second") {
		t.Errorf("sessions %s", titles)
	}
}
