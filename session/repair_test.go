package session

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const testHeader = `{"type":"session","version":1,"id":"1","workspace":"/ws"}` + "\n"

// lay writes a session file, and a partial unless it is "", and returns the folder.
func lay(t testing.TB, file, partial string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "1.jsonl"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	if partial != "" {
		if err := os.WriteFile(filepath.Join(dir, "1.partial"), []byte(partial), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func lines(t *testing.T, events ...Event) string {
	t.Helper()
	var text strings.Builder
	for _, e := range events {
		line, err := EncodeEvent(e)
		must(t, err)
		text.Write(append(line, '\n'))
	}
	return text.String()
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}

func recoveries(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "1.jsonl.recovery-*"))
	must(t, err)
	return names
}

func TestAFileCutAtAnyByteOfItsLastLineGoesOn(t *testing.T) {
	first := []Event{user("one"), answer("two")}
	last := ToolResult{ID: "x", Output: "é\n\"}{"}
	whole := testHeader + lines(t, first...)
	full := whole + lines(t, last)
	for cut := len(whole); cut <= len(full); cut++ {
		checkCut(t, full[:cut], first, last, cut >= len(full)-1, cut > len(whole) && cut < len(full)-1)
	}
	long := whole + lines(t, user(strings.Repeat("x", 4096))) // what is cut off is longer than what follows
	checkCut(t, long[:len(long)-2], first, nil, false, true)
	checkCut(t, whole+strings.Repeat("\x00", 4096), first, nil, false, true)
}

// checkCut opens a file that was cut, appends, and reads it again.
func checkCut(t *testing.T, file string, first []Event, last Event, kept, torn bool) {
	t.Helper()
	dir := lay(t, file, "")
	s := open(t, dir, "1")
	want := first
	if kept {
		want = append(want[:len(want):len(want)], last)
	}
	if diff := cmp.Diff(want, events(s)); diff != "" {
		t.Errorf("cut at %d (-want +got):\n%s", len(file), diff)
	}
	if got := read(t, s.Path()); got != file {
		t.Errorf("cut at %d: opening changed the file", len(file))
	}
	if warned := len(s.Warnings()) > 0; warned != torn {
		t.Errorf("cut at %d: warnings %q", len(file), s.Warnings())
	}
	must(t, s.Append(user("next")))
	s = reopen(t, s)
	if diff := cmp.Diff(append(want[:len(want):len(want)], user("next")), events(s)); diff != "" || len(s.Warnings()) > 0 {
		t.Errorf("cut at %d, after the next append: %q (-want +got):\n%s", len(file), s.Warnings(), diff)
	}
	kepts := recoveries(t, dir)
	if !torn && len(kepts) > 0 || torn && (len(kepts) != 1 || read(t, kepts[0]) != file) {
		t.Errorf("cut at %d: the original is kept as %q", len(file), kepts)
	}
}

func TestAFileCutInItsHeaderGoesOn(t *testing.T) {
	for cut := range len(testHeader) {
		dir := lay(t, testHeader[:cut], "")
		s := open(t, dir, "1")
		must(t, s.Append(user("next")))
		s = reopen(t, s)
		if diff := cmp.Diff([]Event{user("next")}, events(s)); diff != "" || s.ID() != "1" || len(s.Warnings()) > 0 {
			t.Errorf("cut at %d: %q (-want +got):\n%s", cut, s.Warnings(), diff)
		}
	}
}

func TestDamageInTheMiddleCostsOnlyItsLine(t *testing.T) {
	nul := strings.Repeat("\x00", 4096)
	a, b, c := lines(t, user("a")), lines(t, answer("b")), lines(t, user("c"))
	hurt := strings.Replace(b, "role", "ro\"le", 1)
	gone := Unknown{[]byte(damagedRaw)}
	for name, x := range map[string]struct {
		file string
		want []Event
		line string
	}{
		"NULs for a line":       {testHeader + a + nul + "\n" + c, []Event{user("a"), gone, user("c")}, "line 3"},
		"NULs before a line":    {testHeader + a + nul + b + c, []Event{user("a"), answer("b"), user("c")}, "line 3"},
		"NULs in a line":        {testHeader + a + b[:20] + nul + b[20:] + c, []Event{user("a"), gone, user("c")}, "line 3"},
		"NULs over the newline": {testHeader + a[:20] + nul + b + c, []Event{gone, user("c")}, "line 2"},
		"garbage":               {testHeader + a + "<<<<<<< HEAD\n" + c, []Event{user("a"), gone, user("c")}, "line 3"},
		"one byte":              {testHeader + a + hurt + c, []Event{user("a"), gone, user("c")}, "line 3"},
		"a blank line":          {testHeader + a + "\n" + c, []Event{user("a"), gone, user("c")}, "line 3"},
		"the header":            {"\x00\x00\n" + a + c, []Event{user("a"), user("c")}, "line 1"},
		"a garbled header":      {testHeader[:20] + "\n" + a + c, []Event{user("a"), user("c")}, "line 1"},
	} {
		dir := lay(t, x.file, "")
		s := open(t, dir, "1")
		if strings.HasPrefix(name, "NUL") && len(s.Warnings()) != 1 {
			t.Errorf("%s: nothing is said before the events are read", name)
		}
		if diff := cmp.Diff(x.want, events(s)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if w := s.Warnings(); len(w) != 1 || !strings.Contains(w[0], x.line+" ") {
			t.Errorf("%s: warnings %q, want one that names %s", name, w, x.line)
		}
		if m := s.Messages(); len(m) == 0 || m[len(m)-1].Content[0] != Part(Text{"c"}) {
			t.Errorf("%s: the model does not get what comes after: %v", name, m)
		}
		must(t, s.Append(user("next")))
		if got := read(t, s.Path()); got != x.file+lines(t, user("next")) {
			t.Errorf("%s: the append changed more than the end", name)
		}
	}
}

func TestFilesOfOtherWritersLoad(t *testing.T) {
	for name, file := range map[string]string{
		"an older header":       `{"type":"session","workspace":"/ws"}` + "\n" + lines(t, user("a"), answer("b")),
		"CRLF":                  strings.ReplaceAll(testHeader+lines(t, user("a"), answer("b")), "\n", "\r\n"),
		"other key order":       testHeader + `{ "content":[{"text":"a","type":"text"}], "role":"user", "type":"user" }` + "\n" + `{"model":"m","content":[{"type":"text","text":"b"}],"type":"assistant"}` + "\n",
		"no newline at the end": strings.TrimSuffix(testHeader+lines(t, user("a"), answer("b")), "\n"),
	} {
		s := open(t, lay(t, file, ""), "1")
		if diff := cmp.Diff([]Event{user("a"), answer("b")}, events(s)); diff != "" || len(s.Warnings()) > 0 {
			t.Errorf("%s: %q (-want +got):\n%s", name, s.Warnings(), diff)
		}
		if s.ID() != "1" || s.Header().Workspace != "/ws" || s.Title() != "a" {
			t.Errorf("%s: header %+v, title %q", name, s.Header(), s.Title())
		}
		must(t, s.Append(Name{"c"}))
		if s = reopen(t, s); s.Len() != 3 || len(s.Warnings()) > 0 {
			t.Errorf("%s: after an append %d events, %q", name, s.Len(), s.Warnings())
		}
	}
}

func TestEventsOfANewerVersionAreKept(t *testing.T) {
	future := `{"type":"hologram","data":[1.50,{"x":"\u00e9"}]}`
	file := testHeader + lines(t, user("a")) + future + "\n" + lines(t, answer("b"))
	s := open(t, lay(t, file, ""), "1")
	want := []Event{user("a"), Unknown{[]byte(future)}, answer("b")}
	if diff := cmp.Diff(want, events(s)); diff != "" || len(s.Warnings()) > 0 || len(s.Messages()) != 2 {
		t.Errorf("%q, %d messages (-want +got):\n%s", s.Warnings(), len(s.Messages()), diff)
	}
	must(t, s.Append(events(s)[1]))
	if !strings.HasSuffix(read(t, s.Path()), future+"\n") {
		t.Error("an unknown event that is written again is not what it was")
	}
}

func TestCallsWithoutResultGetOneOnResume(t *testing.T) {
	file := testHeader + lines(t, user("go"), calls("a", "b", "c"), ToolResult{ID: "b", Output: "B"})
	partial := `{"at":2,"kind":"output","id":"c","text":"line 1\n"}` + "\n" + `{"at":2,"kind":"output","id":"b","text":"B"}` + "\n" + `{"at":3,"kind":"output","id":"c","text":"line 2"}` + "\n"
	dir := lay(t, file, partial)
	s := open(t, dir, "1")
	want := []Event{
		ToolResult{ID: "a", Output: outcomeUnknown, IsError: true},
		ToolResult{ID: "c", Output: outcomeUnknown + "\n\nIt had printed:\nline 1\nline 2", IsError: true},
	}
	if diff := cmp.Diff(want, events(s)[3:]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	checkPairs(t, "resumed", s.Messages())
	if read(t, s.Path()) != file || len(s.Warnings()) != 2 {
		t.Errorf("opening changed the file, or warnings are %q", s.Warnings())
	}
	must(t, s.Append(user("next")))
	if got := read(t, s.Path()); got != file+lines(t, append(want, user("next"))...) {
		t.Errorf("the repairs are not written before the next event:\n%s", got)
	}
	s = reopen(t, s)
	if len(s.Warnings()) > 0 || s.Len() != 6 || len(recoveries(t, dir)) > 0 {
		t.Errorf("repaired twice: %q, %d events, %q", s.Warnings(), s.Len(), recoveries(t, dir))
	}
}

func TestStreamedTextOfADeadProcessBecomesAnAnswer(t *testing.T) {
	file := testHeader + lines(t, user("go"))
	partial := `{"at":1,"kind":"thinking","id":"m1","text":"hm "}
{"at":1,"kind":"thinking","id":"m1","text":"yes"}
{"at":1,"kind":"text","id":"m1","text":"Let "}
garbage
{"at":2,"kind":"text","id":"m1","text":"me"}
{"at":1,"kind":"te`
	dir := lay(t, file, partial)
	s := open(t, dir, "1")
	want := []Event{user("go"), Assistant{Content: []Part{Thinking{Thinking: "hm yes"}, Text{"Let me"}}}, Mark{Interrupted: interruptedMark}.Event()}
	if diff := cmp.Diff(want, events(s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	must(t, s.Partial(Partial{PartialText, "m2", "new"})) // writes the repair first
	if got := read(t, filepath.Join(dir, "1.partial")); got != `{"at":3,"kind":"text","id":"m2","text":"new"}`+"\n" {
		t.Errorf("the partial holds\n%s", got)
	}
	s = reopen(t, s)
	want = append(want, answer("new"), want[2])
	want[3] = Assistant{Content: []Part{Text{"new"}}}
	if diff := cmp.Diff(want, events(s)); diff != "" {
		t.Errorf("after the second end (-want +got):\n%s", diff)
	}
}

func TestOutputOfAnEarlierCallOfTheSameIDIsNotTaken(t *testing.T) {
	file := testHeader + lines(t, calls("a"), ToolResult{ID: "a", Output: "old"}, calls("a"))
	partial := `{"at":1,"kind":"output","id":"a","text":"old"}` + "\n" + `{"at":3,"kind":"output","id":"a","text":"new"}` + "\n"
	s := open(t, lay(t, file, partial), "1")
	e, err := s.Event(3)
	must(t, err)
	if got := e.(ToolResult).Output; strings.Contains(got, "old") || !strings.Contains(got, "new") {
		t.Errorf("the result is %q", got)
	}
}

func TestAPartialWhoseEventWasWrittenIsIgnored(t *testing.T) {
	file := testHeader + lines(t, user("go"), Extension{Extension: "x", Data: []byte("1")}, calls("a"), ToolResult{ID: "a", Output: "A"})
	partial := `{"at":1,"kind":"text","id":"m","text":"calling"}` + "\n" + `{"at":3,"kind":"output","id":"a","text":"A"}` + "\n"
	s := open(t, lay(t, file, partial), "1")
	if s.Len() != 4 || len(s.Warnings()) > 0 {
		t.Errorf("%d events, %q", s.Len(), s.Warnings())
	}
	must(t, s.Append(answer("done")))
	if got := read(t, s.partialPath()); got != "" {
		t.Errorf("the finished partial stays: %s", got)
	}
}

func TestALongPartialIsEmptiedWhenAllInItIsFinished(t *testing.T) {
	dir := t.TempDir()
	s := create(t, dir, user("go"), calls("a", "b"))
	must(t, s.Partial(Partial{PartialOutput, "a", strings.Repeat("A", idlePartial)}))
	must(t, s.Partial(Partial{PartialOutput, "b", "B"}))
	must(t, s.Append(ToolResult{ID: "a", Output: "A"}))
	if !strings.Contains(read(t, s.partialPath()), `"b"`) {
		t.Error("the output of a call that still runs is gone")
	}
	must(t, s.Append(ToolResult{ID: "b", Output: "B"}))
	if got := read(t, s.partialPath()); got != "" {
		t.Errorf("it holds %s", got)
	}
	must(t, s.Close())
	if _, err := os.Stat(s.partialPath()); err == nil {
		t.Error("an empty partial is left behind")
	}
}

func TestWhatIsFinishedStaysInAShortPartialAndIsNotTakenAgain(t *testing.T) {
	dir := t.TempDir()
	s := create(t, dir, user("go"))
	for _, text := range []string{"first", "second"} {
		must(t, s.Partial(Partial{PartialText, "m", text}))
		must(t, s.Append(answer(text)))
	}
	must(t, s.Partial(Partial{PartialText, "m", "third"})) // and no end
	want := append(events(s), Assistant{Content: []Part{Text{"third"}}}, Mark{Interrupted: interruptedMark}.Event())
	if diff := cmp.Diff(want, events(reopen(t, s))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestALineOfManyMegabytes(t *testing.T) {
	big := ToolResult{ID: "a", Output: string(bytes.Repeat([]byte("0123456789\n"), 2<<20))}
	s := create(t, t.TempDir(), calls("a"), big, user("after"))
	s = reopen(t, s)
	e, err := s.Event(1)
	if err != nil || e.(ToolResult).Output != big.Output || s.Title() != "after" {
		t.Errorf("%v; title %q", err, s.Title())
	}
}

func ExampleLoad() {
	dir, err := os.MkdirTemp("", "sessions")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	s, err := Create(dir, Header{ID: "1", Workspace: "/ws"})
	if err != nil {
		panic(err)
	}
	defer s.Close()
	if err := s.Append(User{Content: []Part{Text{Text: "hello"}}}); err != nil {
		panic(err)
	}
	shown, err := Load(dir, "1") // also while it is open
	if err != nil {
		panic(err)
	}
	defer shown.Close()
	for i, e := range shown.All() {
		fmt.Println(i, e)
	}
	// Output: 0 {[{hello}]}
}
