package config

import (
	"cmp"
	"path/filepath"
	"slices"
)

// An Origin says which file a setting comes from; it never holds the setting's value.
type Origin struct {
	Key  string // "agent.max_steps"
	File string
	Line int // 1-based
}

// Origins returns where each setting comes from that some file names, by key: the last of the
// files that Load lays over each other. Files that cannot be read name none.
func Origins(h Home, workspace string, trusted bool, extraFile string) []Origin {
	files := []string{h.ConfigFile()}
	if project := projectDir(workspace); trusted && !h.owns(project) {
		files = append(files, filepath.Join(project, "config.json"))
	}
	if extraFile != "" {
		files = append(files, extraFile)
	}
	last := map[string]Origin{}
	for _, file := range files {
		data, _, ok := readOptional(file)
		if root, err := parse(data); ok && err == nil {
			root.leaves("", func(key string, line int) { last[key] = Origin{key, file, line} })
		}
	}
	list := make([]Origin, 0, len(last))
	for _, o := range last {
		list = append(list, o)
	}
	slices.SortFunc(list, func(a, b Origin) int { return cmp.Compare(a.Key, b.Key) })
	return list
}

// leaves calls each for every value in n that is no object.
func (n node) leaves(key string, each func(key string, line int)) {
	members, isObject := n.value.([]member)
	if !isObject {
		each(key, n.line)
		return
	}
	for _, m := range members {
		m.leaves(join(key, m.name), each)
	}
}
