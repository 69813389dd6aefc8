package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func folder(t *testing.T, parts ...string) string {
	t.Helper()
	dir := filepath.Join(parts...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func wantTrust(t *testing.T, h Home, dir string, want Trust) {
	t.Helper()
	if got, err := h.Trust(dir); got != want || err != nil {
		t.Errorf("%s is %s (%v), want %s", dir, got, err, want)
	}
}

func setTrust(t *testing.T, h Home, dir string, trusted bool) {
	t.Helper()
	if err := h.SetTrust(dir, trusted); err != nil {
		t.Fatal(err)
	}
}

func TestNearestDecisionCounts(t *testing.T) {
	h, top := Home(filepath.Join(t.TempDir(), "not", "there", "yet")), t.TempDir()
	inner := folder(t, top, "a", "b", "c")
	wantTrust(t, h, inner, Undecided)
	if _, err := os.Stat(string(h)); err == nil {
		t.Error("looking up trust made the home folder")
	}
	setTrust(t, h, filepath.Join(top, "a"), true)
	wantTrust(t, h, top, Undecided)
	wantTrust(t, h, filepath.Join(top, "a"), Trusted)
	wantTrust(t, h, inner, Trusted)
	wantTrust(t, h, folder(t, top, "ab"), Undecided) // a name that only begins like it
	setTrust(t, h, filepath.Join(top, "a", "b"), false)
	wantTrust(t, h, inner, Untrusted)
	wantTrust(t, h, filepath.Join(top, "a"), Trusted)
	setTrust(t, h, inner, true)
	wantTrust(t, h, inner, Trusted)
	setTrust(t, h, inner, false)
	wantTrust(t, h, inner, Untrusted)
	if info, err := os.Stat(h.TrustFile()); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("trust.json is %v (%v), want it closed to others", info.Mode(), err)
	}
}

func TestTrustResolvesLinks(t *testing.T) {
	h, top := Home(t.TempDir()), t.TempDir()
	real, link := folder(t, top, "real", "sub"), filepath.Join(top, "link")
	if err := os.Symlink(filepath.Join(top, "real"), link); err != nil {
		t.Fatal(err)
	}
	setTrust(t, h, link, true)
	wantTrust(t, h, real, Trusted)
	wantTrust(t, h, filepath.Join(link, "sub"), Trusted)

	other := folder(t, top, "other")
	if err := errors.Join(os.Remove(link), os.Symlink(other, link)); err != nil {
		t.Fatal(err)
	}
	wantTrust(t, h, link, Undecided) // the folder was trusted, not the name
}

func TestTrustIgnoresCaseWhereTheSystemDoes(t *testing.T) {
	h, dir := Home(t.TempDir()), folder(t, t.TempDir(), "Project")
	resolved, err := resolve(dir)
	if err != nil {
		t.Fatal(err)
	}
	put(t, string(h), "trust.json", fmt.Sprintf(`{"folders": {%q: true}}`, filepath.Join(filepath.Dir(resolved), "PROJECT")))
	want := Undecided
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		want = Trusted
	}
	wantTrust(t, h, dir, want)
}

func TestProcessesKeepEachOthersDecisions(t *testing.T) {
	h, top := Home(t.TempDir()), t.TempDir()
	var all sync.WaitGroup
	for i := range 20 {
		dir := folder(t, top, fmt.Sprint(i))
		all.Go(func() { // each call opens the lock anew, as a process of its own would
			if err := h.SetTrust(dir, i%2 == 0); err != nil {
				t.Error(err)
			}
			if _, err := h.Trust(dir); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for i := range 20 {
		want := Untrusted
		if i%2 == 0 {
			want = Trusted
		}
		wantTrust(t, h, filepath.Join(top, fmt.Sprint(i)), want)
	}
	left, err := filepath.Glob(filepath.Join(string(h), "*.tmp"))
	if err != nil || left != nil {
		t.Errorf("left behind: %v", left)
	}
}

func TestOtherEntriesOfTheTrustFileAreKept(t *testing.T) {
	h, dir := Home(t.TempDir()), t.TempDir()
	put(t, string(h), "trust.json", `{"later": {"x": [1]}, "folders": {"/gone": true}}`)
	setTrust(t, h, dir, true)
	data, err := os.ReadFile(h.TrustFile())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"later"`, `"/gone": true`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%s is lost:\n%s", want, data)
		}
	}
}

func TestDamagedTrustFileIsKeptAsideAndSaid(t *testing.T) {
	for _, damage := range []string{"", "{", `{"folders": {"/a": "yes"}}`, "[]", "\x00\x00\x00"} {
		h, dir := Home(t.TempDir()), t.TempDir()
		put(t, string(h), "trust.json", damage)
		var damaged *DamagedError
		if trust, err := h.Trust(dir); trust != Undecided || !errors.As(err, &damaged) || damaged.Kept != "" {
			t.Errorf("with %q: %s and %v, want undecided and the damage", damage, trust, err)
		}
		if data, _ := os.ReadFile(h.TrustFile()); string(data) != damage {
			t.Errorf("looking at %q changed it to %q", damage, data)
		}
		if err := h.SetTrust(dir, true); !errors.As(err, &damaged) || !strings.Contains(err.Error(), damaged.Kept) {
			t.Fatalf("storing over %q gives %v, want where it was put", damage, err)
		}
		if data, _ := os.ReadFile(damaged.Kept); string(data) != damage {
			t.Errorf("%q is kept as %q", damage, data)
		}
		wantTrust(t, h, dir, Trusted)
	}
}

func TestTrustFileMayBeALink(t *testing.T) {
	h, dir := Home(t.TempDir()), t.TempDir()
	target := put(t, t.TempDir(), "dotfiles.json", "{}")
	if err := os.Symlink(target, h.TrustFile()); err != nil {
		t.Fatal(err)
	}
	setTrust(t, h, dir, true)
	wantTrust(t, h, dir, Trusted)
	if at, err := os.Readlink(h.TrustFile()); at != target {
		t.Errorf("the link is gone (%v)", err)
	}
}

func TestTrustOfNoFolder(t *testing.T) {
	h := Home(t.TempDir())
	gone := filepath.Join(t.TempDir(), "gone")
	if trust, err := h.Trust(gone); trust != Undecided || err == nil {
		t.Errorf("a folder that is not there is %s (%v)", trust, err)
	}
	if err := h.SetTrust(gone, true); err == nil {
		t.Error("a folder that is not there was trusted")
	}
}
