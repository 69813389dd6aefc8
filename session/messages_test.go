package session

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func use(id string) ToolUse {
	return ToolUse{Call: Call{ID: id, Name: "read", Input: json.RawMessage(`{}`)}}
}

func calls(ids ...string) Assistant {
	a := Assistant{Content: []Part{Text{"calling"}}}
	for _, id := range ids {
		a.Content = append(a.Content, use(id))
	}
	return a
}

func messagesOf(t *testing.T, events ...Event) []Message {
	t.Helper()
	s := InMemory(Header{})
	must(t, s.Append(events...))
	return s.Messages()
}

// checkPairs is what providers check: each call is answered once, at once and in order, and
// nothing else is.
func checkPairs(t *testing.T, what string, messages []Message) {
	t.Helper()
	var open []string
	for i, m := range messages {
		var results []string
		for _, p := range m.Content {
			if out, ok := p.(ToolOutput); ok {
				results = append(results, out.ToolUseID)
			}
		}
		if !cmp.Equal(open, results) {
			t.Errorf("%s: message %d answers %q, calls were %q", what, i, results, open)
		}
		open = nil
		for _, p := range m.Content {
			if u, ok := p.(ToolUse); ok {
				open = append(open, u.ID)
			}
		}
		if len(m.Content) == 0 {
			t.Errorf("%s: message %d is empty", what, i)
		}
	}
	if len(open) > 0 {
		t.Errorf("%s: calls %q at the end have no result", what, open)
	}
}

func TestMessagesGroupResultsInTheOrderOfTheCalls(t *testing.T) {
	got := messagesOf(t, user("go"), calls("a", "b"),
		ToolResult{ID: "b", Output: "B"}, Extension{Extension: "x"}, ToolResult{ID: "a", Output: "A", Images: []Image{{Data: "i"}}},
		user("steer"), answer("done"), Name{"n"}, Selection{"p", "m"})
	want := []Message{
		{RoleUser, []Part{Text{"go"}}},
		{RoleAssistant, []Part{Text{"calling"}, use("a"), use("b")}},
		{RoleUser, []Part{ToolOutput{ToolUseID: "a", Content: "A", Images: []Image{{Data: "i"}}}, ToolOutput{ToolUseID: "b", Content: "B"}}},
		{RoleUser, []Part{Text{"steer"}}},
		{RoleAssistant, []Part{Text{"done"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMessagesRepairCallsAndResults(t *testing.T) {
	unknown := ToolOutput{ToolUseID: "a", Content: outcomeUnknown, IsError: true}
	for name, c := range map[string]struct {
		events []Event
		want   []Message
	}{
		"call without result": {[]Event{calls("a"), user("next")},
			[]Message{{RoleAssistant, calls("a").Content}, {RoleUser, []Part{unknown}}, {RoleUser, []Part{Text{"next"}}}}},
		"result after the next message": {[]Event{calls("a"), user("next"), ToolResult{ID: "a", Output: "A"}},
			[]Message{{RoleAssistant, calls("a").Content}, {RoleUser, []Part{ToolOutput{ToolUseID: "a", Content: "A"}}}, {RoleUser, []Part{Text{"next"}}}}},
		"result without call": {[]Event{user("go"), ToolResult{ID: "a"}, ToolResult{}}, []Message{{RoleUser, []Part{Text{"go"}}}}},
		"second result": {[]Event{calls("a"), ToolResult{ID: "a", Output: "A"}, ToolResult{ID: "a", Output: "again"}},
			[]Message{{RoleAssistant, calls("a").Content}, {RoleUser, []Part{ToolOutput{ToolUseID: "a", Content: "A"}}}}},
		"an id used again": {[]Event{calls("a"), calls("a"), ToolResult{ID: "a", Output: "A"}},
			[]Message{{RoleAssistant, calls("a").Content}, {RoleUser, []Part{unknown}}, {RoleAssistant, calls("a").Content}, {RoleUser, []Part{ToolOutput{ToolUseID: "a", Content: "A"}}}}},
		"an id used twice in one answer": {[]Event{calls("a", "a"), ToolResult{ID: "a", Output: "1"}, ToolResult{ID: "a", Output: "2"}},
			[]Message{{RoleAssistant, calls("a", "a").Content}, {RoleUser, []Part{ToolOutput{ToolUseID: "a", Content: "1"}, ToolOutput{ToolUseID: "a", Content: "2"}}}}},
		"results inside a user's message": {[]Event{calls("a"), User{[]Part{ToolOutput{ToolUseID: "a", Content: "A"}, ToolOutput{ToolUseID: "z"}, Text{"and"}}}},
			[]Message{{RoleAssistant, calls("a").Content}, {RoleUser, []Part{ToolOutput{ToolUseID: "a", Content: "A"}}}, {RoleUser, []Part{Text{"and"}}}}},
		"empty answer": {[]Event{user("go"), Assistant{}}, []Message{{RoleUser, []Part{Text{"go"}}}}},
		"broken arguments": {[]Event{Assistant{Content: []Part{ToolUse{Call: Call{ID: "a", Input: json.RawMessage(`"x"`)}, ParseError: "no"}}}},
			[]Message{{RoleAssistant, []Part{ToolUse{Call: Call{ID: "a", Input: json.RawMessage(`{}`)}, ParseError: "no"}}}, {RoleUser, []Part{unknown}}}},
	} {
		if diff := cmp.Diff(c.want, messagesOf(t, c.events...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestCallsTheProviderRanKeepTheirResultsInPlace(t *testing.T) {
	search := ToolUse{Call: Call{ID: "s", Name: "search", Input: json.RawMessage(`{}`)}, Hosted: true}
	a := Assistant{Content: []Part{search, ToolOutput{ToolUseID: "s", Content: "found"}, Text{"so"}}}
	if diff := cmp.Diff([]Message{{RoleAssistant, a.Content}}, messagesOf(t, a)); diff != "" {
		t.Error(diff)
	}
}

// toolHeavy has every position that a cut could spoil.
func toolHeavy() []Event {
	var list []Event
	for i := range 4 {
		a, b := fmt.Sprintf("a%d", i), fmt.Sprintf("b%d", i)
		list = append(list, user("go"), calls(a, b), ToolResult{ID: b}, ToolResult{ID: a}, Mark{Mode: "act"}.Event(), answer("ok"), calls(a+"x"), ToolResult{ID: a + "x"})
	}
	return list
}

func TestCompactionAtEveryPositionKeepsCallsAndResultsTogether(t *testing.T) {
	list := toolHeavy()
	for kept := -1; kept <= len(list)+2; kept++ {
		for end := max(kept, 0); end <= len(list); end++ {
			s := InMemory(Header{})
			must(t, s.Append(list[:end]...))
			s.Messages() // what is cached must not outlive the compaction
			must(t, s.Append(Compaction{Summary: "so far", FirstKeptIndex: kept}))
			must(t, s.Append(list[end:]...))
			got := s.Messages()
			what := fmt.Sprintf("kept %d, compaction at %d", kept, end)
			checkPairs(t, what, got)
			if len(got) == 0 || got[0].Content[0] != Part(Text{summaryHead + "so far"}) {
				t.Fatalf("%s: the summary does not come first", what)
			}
		}
	}
}

func TestLastCompactionCounts(t *testing.T) {
	got := messagesOf(t, user("0"), user("1"), Compaction{Summary: "first", FirstKeptIndex: 1}, user("3"), Compaction{Summary: "second", FirstKeptIndex: 1}, user("5"))
	want := []Message{{RoleUser, []Part{Text{summaryHead + "second"}}}, {RoleUser, []Part{Text{"1"}}}, {RoleUser, []Part{Text{"3"}}}, {RoleUser, []Part{Text{"5"}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMessagesGrowAsTheyWouldBeReadAnew(t *testing.T) {
	list := toolHeavy()
	s := create(t, t.TempDir())
	for i, e := range list {
		must(t, s.Append(e))
		got := s.Messages()
		checkPairs(t, fmt.Sprintf("after %d events", i+1), got)
		if diff := cmp.Diff(messagesOf(t, list[:i+1]...), got); diff != "" {
			t.Fatalf("after %d events (-anew +grown):\n%s", i+1, diff)
		}
	}
	before := s.Messages()
	copied := append([]Message(nil), before...)
	must(t, s.Append(calls("late"), user("x")))
	held := s.Messages()
	must(t, s.Append(ToolResult{ID: "late", Output: "now"}))
	s.Messages()
	if !cmp.Equal(before, copied) || held[len(held)-2].Content[0].(ToolOutput).Content != outcomeUnknown {
		t.Error("messages that were given away changed")
	}
}
