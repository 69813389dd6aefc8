//go:build unix

package tooling

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A hang is what is tested: the test's own time limit bounds it.
func TestAFifoInPlaceOfTheGrantsHoldsUpNoQuestion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "grants.json")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	var warnings []string
	p := NewPermissions(PermissionsConfig{Folder: "/w", GrantsFile: path, Warn: func(w string) { warnings = append(warnings, w) }})
	if grants := p.Grants(); len(grants) != 0 || len(warnings) != 1 {
		t.Errorf("granted %v, warned %q", grants, warnings)
	}
	p.remember(Need{Key: "bash:ls", Remember: true}, AllowProject)
	if grants := p.Grants(); len(grants) != 1 || grants[0].Scope != ScopeSession || len(warnings) != 2 {
		t.Errorf("granted %v, warned %q", grants, warnings)
	}
}
