package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestLinksOfTheDocumentationLeadSomewhere(t *testing.T) {
	for _, page := range pages(t) {
		_, prose := fences(t, page)
		for _, m := range link.FindAllStringSubmatch(prose, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			path := page
			if target != "" {
				path = filepath.ToSlash(filepath.Join(filepath.Dir(page), filepath.FromSlash(target)))
			}
			if _, err := os.Stat(filepath.FromSlash(path)); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
				continue
			}
			if anchor != "" && !slices.Contains(anchors(t, path), anchor) {
				t.Errorf("%s links to %s, which has no such heading", page, m[1])
			}
		}
	}
}

func TestIndexOfTheDocumentationNamesEveryPage(t *testing.T) {
	index := pageText(t, "docs/README.md")
	for _, page := range pages(t) {
		if name := filepath.Base(page); !strings.Contains(index, name) && name != "README.md" {
			t.Errorf("docs/README.md does not name %s", page)
		}
	}
}

// anchors returns the names that a page's headings have in links, as GitHub makes them.
func anchors(t *testing.T, page string) (names []string) {
	t.Helper()
	_, prose := fences(t, page)
	for line := range strings.Lines(prose) {
		if heading, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && line[0] == '#' {
			name := strings.ToLower(strings.TrimSpace(heading))
			name = regexp.MustCompile("[^a-z0-9 _-]").ReplaceAllString(name, "")
			names = append(names, strings.ReplaceAll(name, " ", "-"))
		}
	}
	return names
}
