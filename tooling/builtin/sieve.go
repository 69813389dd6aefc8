package builtin

import (
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// A sieve runs through text with an automaton that lets every match of a pattern pass, and some
// more: it takes ^, $ and \b for granted, and stops at each byte that is not ASCII. What it stops
// at is then judged by the pattern itself. It makes its states as it meets them and is several
// times faster than package regexp on patterns without a literal to look for.
type sieve struct {
	prog  *syntax.Prog
	text  []byte
	rows  []row
	sets  [][]uint32       // by state: the instructions that wait for a character, sorted
	known map[string]int32 // state by its set, spelled as a string
	full  int              // how often there were too many states
}

// A row is where each ASCII byte leads: a state, unmade or passed.
type row [utf8.RuneSelf]int32

const (
	unmade    int32 = 0
	start     int32 = 1 // of every line
	passed    int32 = -1
	maxStates       = 2000 // half a kilobyte each; at that number the states are made anew
	maxFull         = 5    // times; a pattern that needs more is better tried on each line
)

// newSieve returns a sieve for re, nil when everything would pass it.
func newSieve(re *syntax.Regexp) *sieve {
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil
	}
	s := &sieve{prog: prog}
	if !s.clear() {
		return nil
	}
	return s
}

// clear forgets all states but the first; ok is false when that one is a match already.
func (s *sieve) clear() (ok bool) {
	s.rows, s.sets, s.known = make([]row, 1), make([][]uint32, 1), map[string]int32{}
	set, matched := s.follow(nil, uint32(s.prog.Start))
	return !matched && s.state(set) == start
}

func (s *sieve) reset(text []byte) { s.text = text }

// find returns a place, at or after from, in the first line that passes; -1 when none does. from
// is where a line begins.
func (s *sieve) find(from int) int {
	if s.full > maxFull {
		return from
	}
	at := start
	for i := from; i < len(s.text); i++ {
		b := s.text[i]
		switch {
		case b == '\n':
			at = start
			continue
		case b >= utf8.RuneSelf:
			return i
		}
		next := s.rows[at][b]
		if next == unmade {
			next = s.step(at, b)
			if s.full > maxFull {
				return i
			}
		}
		if next == passed {
			return i
		}
		at = next
	}
	return -1
}

// step makes the state that b leads to from at.
func (s *sieve) step(at int32, b byte) int32 {
	set, matched := s.follow(nil, uint32(s.prog.Start)) // a match may begin anywhere
	for _, pc := range s.sets[at] {
		if takes(&s.prog.Inst[pc], rune(b)) && !matched {
			set, matched = s.follow(set, s.prog.Inst[pc].Out)
		}
	}
	if matched {
		s.rows[at][b] = passed
		return passed
	}
	if len(s.rows) >= maxStates {
		s.full++
		s.clear()
		return s.state(set)
	}
	next := s.state(set)
	s.rows[at][b] = next
	return next
}

// state returns the number of the state that set stands for.
func (s *sieve) state(set []uint32) int32 {
	slices.Sort(set)
	name := make([]byte, 0, 4*len(set))
	for _, pc := range set {
		name = append(name, byte(pc), byte(pc>>8), byte(pc>>16), byte(pc>>24))
	}
	if n, ok := s.known[string(name)]; ok {
		return n
	}
	n := int32(len(s.rows))
	s.known[string(name)] = n
	s.rows, s.sets = append(s.rows, row{}), append(s.sets, set)
	return n
}

// follow adds to set the instructions that are reached from pc without a character; matched tells
// that the end of the pattern is.
func (s *sieve) follow(set []uint32, pc uint32) (_ []uint32, matched bool) {
	seen := make([]bool, len(s.prog.Inst))
	for _, old := range set {
		seen[old] = true
	}
	for todo := []uint32{pc}; len(todo) > 0; {
		pc, todo = todo[len(todo)-1], todo[:len(todo)-1]
		if seen[pc] {
			continue
		}
		seen[pc] = true
		switch inst := &s.prog.Inst[pc]; inst.Op {
		case syntax.InstMatch:
			return set, true
		case syntax.InstAlt, syntax.InstAltMatch:
			todo = append(todo, inst.Out, inst.Arg)
		case syntax.InstCapture, syntax.InstNop, syntax.InstEmptyWidth:
			todo = append(todo, inst.Out)
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			set = append(set, pc)
		}
	}
	return set, false
}

func takes(inst *syntax.Inst, r rune) bool {
	switch inst.Op {
	case syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return true
	}
	return inst.MatchRune(r)
}
