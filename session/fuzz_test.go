package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Whatever a session's files hold, it opens, the next event is written whole after what could be
// read, and the model gets a valid conversation.
func FuzzOpen(f *testing.F) {
	for _, file := range []string{"", testHeader, testHeader[:9], "\x00", "\n\n", "{}", `{"type":"session"}`,
		testHeader + `{"type":"user","role":"user","content":[{"type":"text","text":"a"}]}` + "\n" + `{"type":"assistant","content":[{"type":"tool_use","id":"1"}]}` + "\n",
		testHeader + `{"type":"compaction","first_kept_index":-5,"summary":"s"}` + "\n" + `{"type":"extension","extension":"nimlet","data":{"mode":7}}` + "\n" + `{"type":"us`,
	} {
		f.Add([]byte(file), []byte(""))
		f.Add([]byte(file), []byte(`{"at":0,"kind":"text","id":"m","text":"a"}`+"\n"+`{"at":-1,"kind":"output","id":"1"`))
	}
	f.Fuzz(func(t *testing.T, file, partial []byte) {
		dir := lay(t, string(file), string(partial))
		s := open(t, dir, "1")
		before := events(s)
		checkPairs(t, "opened", s.Messages())
		s.Title()
		s.Mode()
		s.Selection()
		must(t, s.Append(user("next"), Mark{Mode: "plan"}.Event()))
		s = reopen(t, s)
		if after := events(s); len(after) != len(before)+2 || !cmp.Equal(after[len(before)], Event(user("next"))) {
			t.Errorf("%d events, then %d: %v", len(before), len(after), after)
		}
		if s.Mode() != "plan" {
			t.Errorf("mode %q", s.Mode())
		}
		checkPairs(t, "reopened", s.Messages())
		must(t, s.Close())
		left, err := filepath.Glob(filepath.Join(dir, "*.lock"))
		must(t, err)
		for _, name := range left {
			if !strings.HasSuffix(name, "index.lock") {
				t.Errorf("%s is left", name)
			}
		}
		_, err = os.Stat(filepath.Join(dir, "1.jsonl"))
		must(t, err)
	})
}

// What is read is written so that it reads the same, once what no line may hold is replaced.
func FuzzDecode(f *testing.F) {
	for _, c := range codecTable {
		f.Add([]byte(c.line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		first := DecodeEvent(line)
		second := DecodeEvent(oneEncoded(t, first))
		third := DecodeEvent(oneEncoded(t, second))
		if diff := cmp.Diff(second, third); diff != "" || kindOf(first) != kindOf(second) {
			t.Errorf("%q was %#v (-second +third):\n%s", line, first, diff)
		}
	})
}
