//go:build !windows

package builtin

import (
	"errors"
	"os/exec"
)

// findShell returns bash or, where there is none, sh.
func findShell() (shell, error) {
	if path, err := exec.LookPath("bash"); err == nil {
		return bashAt(path), nil
	}
	if path, err := exec.LookPath("sh"); err == nil {
		return shell{path: path, text: []string{"-c"}, ext: ".sh", posix: true}, nil
	}
	return shell{}, errors.New("neither bash nor sh is installed, so no command can run")
}
