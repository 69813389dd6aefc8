//go:build unix

package config

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestAFIFOInAFilesPlaceDoesNotHang(t *testing.T) {
	h := Home(t.TempDir())
	for _, name := range []string{h.ConfigFile(), h.SystemFile(), h.TrustFile()} {
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, problems := Load(h, "", false, h.TrustFile()); len(problems) != 2 || !strings.Contains(said(problems), "it is no regular file") {
		t.Errorf("problems:\n%s", said(problems))
	}
	if _, _, problems := SystemPrompt(h, "", false); len(problems) != 1 {
		t.Errorf("problems:\n%s", said(problems))
	}
	if trust, err := h.Trust(filepath.Dir(string(h))); trust != Undecided || err == nil {
		t.Errorf("trust is %s (%v)", trust, err)
	}
}
