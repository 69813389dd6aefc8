package builtin

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestReplacementKeepsLineEndings(t *testing.T) {
	for _, test := range []struct{ name, text, old, new, want string }{
		{"LF", "a\nb\nc\n", "b", "x\ny", "a\nx\ny\nc\n"},
		{"LF text matches in a CRLF file", "a\r\nb\r\nc\r\n", "a\nb\n", "a\nx\ny\n", "a\r\nx\r\ny\r\nc\r\n"},
		{"CRLF text matches in an LF file", "a\nb\nc\n", "a\r\nb", "a\r\nx", "a\nx\nc\n"},
		{"mixed: lines that stay keep theirs", "a\r\nb\nc\r\nd\n", "a\nb\nc\nd", "a\nb\nX\nd", "a\r\nb\nX\r\nd\n"},
		{"mixed: an edited line keeps its own", "a\r\nb\nc\r\n", "b\n", "B\n", "a\r\nB\nc\r\n"},
		{"no final newline", "a\r\nb", "b", "b\nc", "a\r\nb\r\nc"},
		{"insertion takes the ending beside it", "a\r\nb\r\n", "a\n", "a\nx\n", "a\r\nx\r\nb\r\n"},
		{"deletion of a line", "a\r\nb\r\nc\r\n", "b\n", "", "a\r\nc\r\n"},
		{"joined lines", "a\r\nb\r\nc\r\n", "a\nb", "a b", "a b\r\nc\r\n"},
		{"a lone CR is a character", "a\rb\nc\n", "a\rb", "x", "x\nc\n"},
		{"begins at a line end", "a\r\nb\r\n", "\nb", "\nc", "a\r\nc\r\n"},
		{"broken bytes around stay", "\xffa\nb\xfe\n", "b", "c", "\xffa\nc\xfe\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := replacement{test.old, test.new}.apply(test.text)
			if err != nil || got != test.want {
				t.Errorf("got %q, %v; want %q", got, err, test.want)
			}
		})
	}
}

// The model of a replacement: with all line ends taken for LF it is a plain replacement of a
// string that occurs once, and every line outside the lines of the match keeps its bytes.
func TestReplacementIsPlainReplacementOfLines(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	applied := 0
	for range 6000 {
		text := randomText(r)
		flat := toLF(text)
		old := randomPart(r, flat)
		new := randomPart(r, toLF(randomText(r))) + randomWord(r)
		if r.IntN(2) == 0 {
			old, new = toCRLF(old), toCRLF(new) // how they are spelled makes no difference
		}
		if old == "" {
			continue
		}
		got, err := replacement{old, new}.apply(text)
		copies := len(occurrences(flat, toLF(old)))
		if (copies == 1 && toLF(old) != toLF(new)) != (err == nil) {
			t.Fatalf("%q occurs %d times in %q: %v", old, copies, text, err)
		}
		if err != nil {
			continue
		}
		applied++
		if want := strings.Replace(flat, toLF(old), toLF(new), 1); toLF(got) != want {
			t.Fatalf("%q: %q to %q gave %q", text, old, new, got)
		}
		at := strings.Index(flat, toLF(old))
		before := strings.Count(flat[:at], "\n")
		after := strings.Count(flat[at+len(toLF(old)):], "\n")
		checkOutside(t, text, got, before, after)
	}
	if applied < 500 {
		t.Errorf("only %d replacements were made", applied)
	}
}

// checkOutside checks that got begins with the first before whole lines of text and ends with its
// last after lines.
func checkOutside(t *testing.T, text, got string, before, after int) {
	t.Helper()
	lines := strings.SplitAfter(text, "\n")
	head := strings.Join(lines[:before], "")
	tail := strings.Join(lines[len(lines)-after:], "")
	if !strings.HasPrefix(got, head) || !strings.HasSuffix(got, tail) {
		t.Fatalf("lines outside the edit changed: %q became %q; want %q… and …%q", text, got, head, tail)
	}
	only := strings.Count(text, "\r\n") == 0 || strings.Count(text, "\r\n") == strings.Count(text, "\n")
	if only && endings(text) != "" && strings.Contains(got, "\n") && endings(got) != endings(text) {
		t.Fatalf("%q has %s, %q has %s", text, endings(text), got, endings(got))
	}
}

func randomText(r *rand.Rand) string {
	kind := r.IntN(3)
	var out strings.Builder
	for range r.IntN(8) {
		out.WriteString(randomWord(r))
		if kind == 0 || kind == 2 && r.IntN(2) == 0 {
			out.WriteString("\r\n")
		} else {
			out.WriteString("\n")
		}
	}
	if r.IntN(2) == 0 {
		out.WriteString(randomWord(r))
	}
	return out.String()
}

func randomWord(r *rand.Rand) string {
	return []string{"", "a", "b", "ab", "é", "  x", "{", "日本"}[r.IntN(8)]
}

func randomPart(r *rand.Rand, text string) string {
	runes := []rune(text)
	from := r.IntN(len(runes) + 1)
	return string(runes[from : from+r.IntN(len(runes)-from+1)])
}

func TestReplacementFailuresNameTheCause(t *testing.T) {
	text := "package a\n\nfunc one() {\n\treturn 1\n}\n\nfunc two() {\n\treturn 1\n}\n"
	many := strings.Repeat("x\n", 150)
	for _, test := range []struct {
		name, text, old string
		want            []string
	}{
		{"matches", text, "return 1", []string{"2 matches", "lines 4, 8"}},
		{"overlapping matches", "aaa", "aa", []string{"2 matches"}},
		{"many matches", many, "x", []string{"100 or more", "…"}},
		{"white space", text, "func one() {\n    return 1\n}", []string{"white space", "     3\tfunc one() {", "     4\t\treturn 1"}},
		{"similar", text, "func thre() {", []string{"similar", "func one() {"}},
		{"numbers", text, "     3\tfunc one() {\n     4\t\treturn 1", []string{"line numbers"}},
		{"nothing like it", text, "zzzzqqqq", []string{"not found", "read the file again"}},
		{"empty", text, "", []string{"empty"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := replacement{test.old, "new"}.apply(test.text)
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v; want it to hold %q", err, want)
				}
			}
		})
	}
}

func TestSimilarLinesOfALargeFile(t *testing.T) {
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "line number %d of a long file\n", i)
	}
	got := similarLines(strings.Split(text.String(), "\n"), []string{"line number 77 of the long file"})
	if !strings.Contains(got, "line number 77 of a long file") {
		t.Errorf("got %q", got)
	}
}
