package config

import (
	"fmt"
	"path/filepath"
)

// Load returns the settings that hold in workspace, and what is wrong with the files they come
// from. Each file is laid over the one before, key by key: the defaults, the user's config.json,
// the project's .nimlet/config.json when trusted, and extraFile (--config; "" for none), which the
// user named for this run and which therefore wins.
//
// Load never fails: a file that cannot be read or is no JSON is left out whole, a key whose value is
// wrong keeps what it had, an unknown key is a warning. null is the same as no key.
func Load(h Home, workspace string, trusted bool, extraFile string) (Settings, []Problem) {
	s := defaults(h)
	problems := s.read(source{file: h.ConfigFile()})
	if project := projectDir(workspace); trusted && !h.owns(project) {
		problems = append(problems, s.read(source{file: filepath.Join(project, "config.json"), project: true})...)
	}
	if extraFile != "" {
		problems = append(problems, s.read(source{file: extraFile, needed: true})...)
	}
	return s, problems
}

// A source is one file of settings.
type source struct {
	file    string
	project bool // it is a project's, so that keys of the user's alone are ignored
	needed  bool // it is a Problem when it is not there
}

// read reads the file of c and lays it over s.
func (s *Settings) read(c source) []Problem {
	data, problems, ok := readOptional(c.file)
	if !ok {
		if c.needed && problems == nil {
			problems = []Problem{{File: c.file, Text: "there is no such file; check the path given to --config"}}
		}
		return problems
	}
	return s.lay(c, data)
}

// lay lays what the file of c holds over s.
func (s *Settings) lay(c source, data []byte) []Problem {
	root, err := parse(data)
	if err != nil {
		return []Problem{{File: c.file, Text: fmt.Sprintf("%v; the whole file is left out", err)}}
	}
	f := filler{source: c}
	f.fill(s, root)
	return limited(c.file, f.problems)
}
