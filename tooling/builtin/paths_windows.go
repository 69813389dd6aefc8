package builtin

import (
	"fmt"
	"path/filepath"
	"strings"
)

// sameName compares names of files as this system does by default: without case.
func sameName(a, b string) bool { return strings.EqualFold(a, b) }

// plainSpelling takes the prefix off `\\?\C:\x` and `\\?\UNC\host\share\x`: the rest says the
// same in the spelling that everything else compares.
func plainSpelling(path string) string {
	rest, long := strings.CutPrefix(filepath.FromSlash(path), `\\?\`)
	if !long {
		return path
	}
	if unc, isUNC := strings.CutPrefix(rest, `UNC\`); isUNC {
		return `\\` + unc
	}
	return rest
}

// misleading refuses names that Windows reads as another: a trailing dot or blank is dropped
// (`.git.` is `.git`), a colon opens another stream of the same file, NUL and COM1 are devices.
func misleading(path string) error {
	rest := path[len(filepath.VolumeName(path)):]
	for name := range strings.SplitSeq(strings.Trim(rest, `\`), `\`) {
		switch {
		case strings.ContainsRune(name, ':'):
			return fmt.Errorf("the path %q has a colon in a name", path)
		case strings.TrimRight(name, ". ") != name:
			return fmt.Errorf("the path %q has a name that ends in a dot or a blank", path)
		case name != "" && !filepath.IsLocal(name):
			return fmt.Errorf("the path %q has the name of a device in it: %s", path, name)
		}
	}
	return nil
}
