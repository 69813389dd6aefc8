package config

import (
	"fmt"
	"slices"
	"strings"
)

// A Problem is something wrong in a file that was read; the rest of the file counts.
type Problem struct {
	File    string
	Line    int    // 1-based; 0 when it is about the file as a whole
	Key     string // "agent.max_steps"; "" when it is about the file as a whole
	Text    string // what is wrong and what was done about it; never a key's secret value
	Warning bool   // it changes nothing that the user asked for
}

// String returns p in one line: file, line, key and text.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	if p.Key != "" {
		b.WriteString(": " + p.Key)
	}
	return b.String() + ": " + p.Text
}

// nearest returns the one of known that name was most likely meant to be; "" when none is close.
func nearest(name string, known []string) string {
	best, least := "", len(name)/3+2 // a third of the letters may be wrong, but one always
	for _, k := range known {
		if d := distance(strings.ToLower(name), k); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance counts the letters to insert, delete or replace to make a into b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// most limits what one file can say: a file of another program, named by mistake, is wrong in
// every line.
const most = 20

func limited(file string, problems []Problem) []Problem {
	if len(problems) <= most {
		return problems
	}
	more := Problem{File: file, Text: fmt.Sprintf("%d more problems of this file are not shown", len(problems)-most), Warning: true}
	return append(slices.Clip(problems[:most]), more)
}
