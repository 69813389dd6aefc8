// Package config finds and reads what the user decided outside a session: settings, trust in
// folders, the project's own grants and system prompt, and the folders that are searched for
// skills. It knows no session, tool, model or editor.
//
// Three rules hold throughout. Reading never fails as a whole: what is wrong becomes a Problem that
// names file and key, and the default is used. A project's files count only when the caller says
// that the project is trusted. And a trusted project still cannot say where sessions or keys live,
// send the user's keys elsewhere, or switch off what the user put in place (settings.go).
package config

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
)

// A Home is the absolute path of the folder that holds all that belongs to the user: ~/.nimlet, or
// what NIMLET_HOME names. It need not exist; what is written makes it, closed to other users.
type Home string

// FindHome returns NIMLET_HOME, or ".nimlet" in the user's home folder when it is not set. getenv
// is os.Getenv, or a test's. It is an error when neither is known, the system's accounts asked.
func FindHome(getenv func(string) string) (Home, error) {
	dir := getenv("NIMLET_HOME")
	if dir == "" {
		home := UserHome(getenv)
		if home == "" {
			return "", errors.New("finding the home folder: neither HOME nor NIMLET_HOME is set, and the system knows no home of this user; set one of them")
		}
		dir = filepath.Join(home, ".nimlet")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("finding the home folder %s: %w", dir, err)
	}
	return Home(dir), nil
}

// UserHome returns the user's own home folder, in which ~/.agents lies whatever NIMLET_HOME says;
// "" when nobody knows one. Where the environment does not say, as under some editors and service
// managers, the system's accounts do.
func UserHome(getenv func(string) string) string {
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	if dir := getenv(name); dir != "" {
		return dir
	}
	account, err := user.Current()
	if err != nil {
		return ""
	}
	return account.HomeDir
}

// ConfigFile returns the user's settings.
func (h Home) ConfigFile() string { return h.join("config.json") }

// AuthFile returns the file of the user's keys.
func (h Home) AuthFile() string { return h.join("auth.json") }

// TrustFile returns the file of the folders that were trusted or refused.
func (h Home) TrustFile() string { return h.join("trust.json") }

// GrantsFile returns the file of the permissions given for a project.
func (h Home) GrantsFile() string { return h.join("grants.json") }

// SessionsDir returns the folder of sessions when agent.session_dir names no other.
func (h Home) SessionsDir() string { return h.join("sessions") }

// InstructionsFile returns the user's own AGENTS.md.
func (h Home) InstructionsFile() string { return h.join("AGENTS.md") }

// SystemFile returns the user's replacement of the built-in system prompt.
func (h Home) SystemFile() string { return h.join("SYSTEM.md") }

// AppendSystemFile returns the user's addition to the system prompt.
func (h Home) AppendSystemFile() string { return h.join("APPEND_SYSTEM.md") }

func (h Home) join(name string) string { return filepath.Join(string(h), name) }

// owns reports whether dir is h itself, so that it is no project's: a workspace may be the user's
// home folder, and what lies in ~/.nimlet then needs no trust.
func (h Home) owns(dir string) bool { return sameFolder(string(h), dir) }

func sameFolder(a, b string) bool {
	infoA, err := os.Stat(a)
	if err != nil {
		return false
	}
	infoB, err := os.Stat(b)
	return err == nil && os.SameFile(infoA, infoB)
}
