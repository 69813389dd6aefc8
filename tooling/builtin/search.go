package builtin

import (
	"context"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// A query is what a grep looks for.
type query struct {
	pattern *regexp.Regexp // RE2, matched against one line at a time
	tree    *syntax.Regexp // the same, parsed
	glob    string         // files wanted; "" is all. Without a slash it is about the name alone.
	prefix  string         // what the glob may have before the path of a file; "" or "src/"
}

// newQuery reads a pattern. ^ and $ are the ends of a line, as are \A and \z.
func newQuery(pattern, glob string, ignoreCase bool) (query, error) {
	if ignoreCase {
		pattern = "(?i:" + pattern + ")"
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return query{}, err
	}
	tree, err := syntax.Parse(pattern, syntax.Perl&^syntax.OneLine)
	if err != nil {
		return query{}, err
	}
	return query{pattern: re, tree: tree, glob: glob}, nil
}

// wants reports whether the file at path, a slash path below the folder searched, is searched.
func (q query) wants(path string) bool {
	if q.glob == "" {
		return true
	}
	if !strings.Contains(q.glob, "/") {
		path = path[strings.LastIndexByte(path, '/')+1:]
	}
	return doublestar.MatchUnvalidated(q.glob, path) ||
		q.prefix != "" && doublestar.MatchUnvalidated(q.glob, q.prefix+path)
}

const (
	batchSize = 32      // files that one worker takes at once
	blockSize = 1 << 20 // bytes read at once; a longer line makes the block grow
	maxBlock  = 16 << 20
)

// search finds the first max matches below p and whether there are more, without ripgrep.
func (q query) search(ctx context.Context, p Place, max int) ([]match, bool, error) {
	found := matches{max: max + 1}
	scanners := make([]*scanner, walkers())
	w := walk{base: p, size: batchSize, beyond: found.beyond, visit: func(worker int, b batch) {
		if scanners[worker] == nil {
			scanners[worker] = newScanner(q)
		}
		for _, e := range b.files {
			path := b.path + e.Name()
			if e.Type().IsRegular() && q.wants(path) && !found.beyond(path) && ctx.Err() == nil {
				scanners[worker].file(b.dir, e.Name(), path, &found)
			}
		}
	}}
	err := w.run(ctx)
	list, more := found.first(max)
	return list, more, err
}

// searchFile is search for the one file p.
func (q query) searchFile(p Place, max int) ([]match, bool, error) {
	f, _, err := p.open()
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	found := matches{max: max + 1}
	if err := newScanner(q).scan(f, "", &found); err != nil {
		return nil, false, p.explain("searching", err)
	}
	list, more := found.first(max)
	return list, more, nil
}
