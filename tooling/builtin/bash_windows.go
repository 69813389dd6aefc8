package builtin

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// findShell returns bash or, where there is none, PowerShell.
func findShell() (shell, error) {
	for _, path := range bashPlaces() {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return bashAt(path), nil
		}
	}
	for _, name := range []string{"pwsh", "powershell"} {
		if path, err := exec.LookPath(name); err == nil {
			plain := []string{"-NoLogo", "-NoProfile", "-NonInteractive"}
			return shell{
				path: path, ext: ".ps1",
				text: append(plain[:3:3], "-Command"),
				file: append(plain[:3:3], "-ExecutionPolicy", "Bypass", "-File"),
			}, nil
		}
	}
	return shell{}, errors.New("neither bash (it comes with Git for Windows) nor PowerShell is installed, so no command can run")
}

// bashPlaces returns where bash may stand: in PATH, and beside git, which has it but does not
// put it there. The bash of Windows itself is left out: it runs commands in another system.
func bashPlaces() (places []string) {
	if path, err := exec.LookPath("bash"); err == nil && !ofWindows(path) {
		places = append(places, path)
	}
	if git, err := exec.LookPath("git"); err == nil {
		above := filepath.Dir(filepath.Dir(git))
		places = append(places, filepath.Join(above, "bin", "bash.exe"), filepath.Join(filepath.Dir(above), "bin", "bash.exe"))
	}
	if programs := os.Getenv("ProgramFiles"); programs != "" {
		places = append(places, filepath.Join(programs, "Git", "bin", "bash.exe"))
	}
	return places
}

func ofWindows(path string) bool {
	path = strings.ToLower(path)
	return strings.Contains(path, `\system32\`) || strings.Contains(path, `\sysnative\`) || strings.Contains(path, `\windowsapps\`)
}
