package builtin

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// A literal is a text without which a pattern cannot match. With fold its ASCII letters, lower
// case here, stand for both cases.
type literal struct {
	text string
	fold bool
}

// maxLiterals is how many alternatives are looked for side by side; more are slower than the
// pattern itself.
const maxLiterals = 8

// literalsOf returns texts one of which is in every match of re, nil when there are no such. To
// look for them is many times faster than to run the pattern over everything.
func literalsOf(re *syntax.Regexp) []literal {
	switch re.Op {
	case syntax.OpLiteral:
		return literalOf(re)
	case syntax.OpCapture, syntax.OpPlus:
		return literalsOf(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return literalsOf(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []literal
		for _, sub := range re.Sub {
			if found := literalsOf(sub); worth(found) > worth(best) {
				best = found
			}
		}
		return best
	case syntax.OpAlternate:
		var all []literal
		for _, sub := range re.Sub {
			found := literalsOf(sub)
			if found == nil || len(all)+len(found) > maxLiterals {
				return nil
			}
			all = append(all, found...)
		}
		return all
	}
	return nil
}

// worth says how much looking for any of all narrows a search.
func worth(all []literal) int {
	if len(all) == 0 {
		return 0
	}
	shortest := slices.MinFunc(all, func(a, b literal) int { return len(a.text) - len(b.text) })
	return 1 + 8*len(shortest.text) - len(all)
}

// literalOf returns the text of an OpLiteral. Of one that ignores case it is the longest part that
// is ASCII without k and s: those two have a third form each, K (Kelvin) and ſ.
func literalOf(re *syntax.Regexp) []literal {
	text := string(re.Rune)
	if re.Flags&syntax.FoldCase == 0 {
		return []literal{{text: text}}
	}
	parts := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return r >= utf8.RuneSelf || r == 'k' || r == 's'
	})
	if len(parts) == 0 {
		return nil
	}
	longest := slices.MaxFunc(parts, func(a, b string) int { return len(a) - len(b) })
	return []literal{{text: longest, fold: true}}
}

// A finder looks for the next of some literals in one text, front to back.
type finder struct {
	text    []byte
	cursors []needle
}

// A needle is one literal and where it was last found.
type needle struct {
	literal
	anchor int // of a fold literal: its rarest byte
	next   int // where it begins; -1: nowhere any more; beforeAll: not looked for yet
	hits   [2]int
}

const beforeAll = -2

func newFinder(literals []literal) *finder {
	f := &finder{}
	for _, l := range literals {
		n := needle{literal: l}
		for i := range len(l.text) {
			if rarity(l.text[i]) > rarity(l.text[n.anchor]) {
				n.anchor = i
			}
		}
		f.cursors = append(f.cursors, n)
	}
	return f
}

// common is the letters of source code, the most frequent first.
const common = " etaionsrlcdupmfhg.b,(yv_w)kxq=jz"

func rarity(b byte) int {
	if i := strings.IndexByte(common, b); i >= 0 {
		return i
	}
	return len(common)
}

func (f *finder) reset(text []byte) {
	f.text = text
	for i := range f.cursors {
		f.cursors[i].next = beforeAll
		f.cursors[i].hits = [2]int{beforeAll, beforeAll}
	}
}

// find returns where the first literal at or after from begins, -1 when there is none.
func (f *finder) find(from int) int {
	first := -1
	for i := range f.cursors {
		n := &f.cursors[i]
		if n.next == beforeAll || n.next >= 0 && n.next < from {
			n.next = n.find(f.text, from)
		}
		if n.next >= 0 && (first < 0 || n.next < first) {
			first = n.next
		}
	}
	return first
}

func (n *needle) find(text []byte, from int) int {
	if !n.fold {
		return indexFrom(text, n.text, from)
	}
	for {
		at := n.nextAnchor(text, from+n.anchor)
		if at < 0 {
			return -1
		}
		start := at - n.anchor
		if start+len(n.text) <= len(text) && equalFold(text[start:start+len(n.text)], n.text) {
			return start
		}
		from = start + 1
	}
}

// nextAnchor returns the next place of the anchor in either case. Each case remembers its own
// next place, so that a rare one is not looked for again and again.
func (n *needle) nextAnchor(text []byte, from int) int {
	low := n.text[n.anchor]
	first := -1
	for i, b := range [2]byte{low, upper(low)} {
		if i == 1 && b == low {
			break
		}
		if hit := n.hits[i]; hit == beforeAll || hit >= 0 && hit < from {
			n.hits[i] = indexByteFrom(text, b, from)
		}
		if hit := n.hits[i]; hit >= 0 && (first < 0 || hit < first) {
			first = hit
		}
	}
	return first
}

func upper(b byte) byte {
	if 'a' <= b && b <= 'z' {
		return b - 'a' + 'A'
	}
	return b
}

// equalFold compares text with a lower-case ASCII literal of the same length.
func equalFold(text []byte, lower string) bool {
	for i, b := range text {
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		if b != lower[i] {
			return false
		}
	}
	return true
}

func indexFrom(text []byte, s string, from int) int {
	if from > len(text) {
		return -1
	}
	if i := bytes.Index(text[from:], []byte(s)); i >= 0 {
		return from + i
	}
	return -1
}

func indexByteFrom(text []byte, b byte, from int) int {
	if from > len(text) {
		return -1
	}
	if i := bytes.IndexByte(text[from:], b); i >= 0 {
		return from + i
	}
	return -1
}
