package builtin

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
)

const (
	maxSimilar  = 3      // places named
	maxCompared = 50_000 // lines looked at
	minLikeness = 0.6    // of 1
)

// similarLines describes the places of lines that are most like wanted: such as differ in white
// space alone, else such as have most pairs of characters in common with its most telling line.
// It is "" when none is.
func similarLines(lines, wanted []string) string {
	lines = lines[:min(len(lines), maxCompared)]
	for len(wanted) > 1 && strings.TrimSpace(wanted[len(wanted)-1]) == "" {
		wanted = wanted[:len(wanted)-1]
	}
	for len(wanted) > 1 && strings.TrimSpace(wanted[0]) == "" {
		wanted = wanted[1:]
	}
	if at := sameButBlanks(lines, wanted); at >= 0 {
		return "these lines differ from it in white space alone:\n" + quoteLines(lines, at, len(wanted))
	}
	telling := slices.MaxFunc(wanted, func(a, b string) int { return cmp.Compare(len(strings.TrimSpace(a)), len(strings.TrimSpace(b))) })
	near := nearest(lines, telling)
	if len(near) == 0 {
		return ""
	}
	var out strings.Builder
	out.WriteString("similar lines:\n")
	for _, at := range near {
		out.WriteString(quoteLines(lines, at, 1))
	}
	return out.String()
}

// sameButBlanks returns where wanted stands in lines when white space does not count, -1 for
// nowhere.
func sameButBlanks(lines, wanted []string) int {
	flat, wanted := withoutBlanks(lines), withoutBlanks(wanted)
	if strings.Join(wanted, "") == "" {
		return -1
	}
	for i := range len(flat) - len(wanted) + 1 {
		if slices.Equal(flat[i:i+len(wanted)], wanted) {
			return i
		}
	}
	return -1
}

func withoutBlanks(lines []string) []string {
	flat := make([]string, len(lines))
	for i, line := range lines {
		flat[i] = strings.Join(strings.Fields(line), "")
	}
	return flat
}

// nearest returns the positions, in order, of the lines most like wanted.
func nearest(lines []string, wanted string) []int {
	type scored struct {
		at    int
		score float64
	}
	var best []scored
	pairs := pairsOf(wanted)
	for i, line := range lines {
		if s := pairs.likeness(line); s >= minLikeness {
			best = append(best, scored{i, s})
		}
	}
	slices.SortStableFunc(best, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	var at []int
	for _, b := range best[:min(len(best), maxSimilar)] {
		at = append(at, b.at)
	}
	slices.Sort(at)
	return at
}

// A pairs counts the pairs of neighbouring bytes in a line, white space aside.
type pairs struct {
	left  [1 << 16]int16 // of each pair; less what likeness has met in the line it is at
	total int
}

func pairsOf(line string) *pairs {
	p := &pairs{}
	for pair := range eachPair(line) {
		p.left[pair]++
		p.total++
	}
	return p
}

// likeness is the share of pairs that line and the line of p have in common (Dice's coefficient).
func (p *pairs) likeness(line string) float64 {
	var met []uint16
	total := p.total
	for pair := range eachPair(line) {
		total++
		if p.left[pair] > 0 {
			p.left[pair]--
			met = append(met, pair)
		}
	}
	for _, pair := range met {
		p.left[pair]++
	}
	if total == 0 {
		return 0
	}
	return 2 * float64(len(met)) / float64(total)
}

// eachPair gives the pairs of the beginning of line, as numbers.
func eachPair(line string) iter.Seq[uint16] {
	return func(yield func(uint16) bool) {
		pair, seen := uint16(0), 0
		for i := range min(len(line), maxLine) {
			b := line[i]
			if b == ' ' || b == '\t' || b == '\r' {
				continue
			}
			pair = pair<<8 | uint16(b)
			if seen++; seen > 1 && !yield(pair) {
				return
			}
		}
	}
}

// quoteLines shows n lines from position at as read does, at most ten of them.
func quoteLines(lines []string, at, n int) string {
	var out strings.Builder
	for i := at; i < at+min(n, 10); i++ {
		line := lines[i]
		if len(line) > maxLine {
			line = line[:maxLine] + "…"
		}
		fmt.Fprintf(&out, "%6d\t%s\n", i+1, strings.ToValidUTF8(line, "\uFFFD"))
	}
	return out.String()
}
