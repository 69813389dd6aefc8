package interop

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

// The clients in JavaScript and, for Linux, a Node that is new enough for them.
var (
	//go:embed package.json
	manifest []byte
	//go:embed package-lock.json
	locked []byte
)

// A kit is where the clients are installed.
type kit struct{ dir string }

var installed struct {
	once sync.Once
	kit  kit
	err  error
}

// clients returns the kit, which is installed by the first test on a machine that needs it. It is
// kept in $NIMLET_TEST_CACHE, or else in the user's cache folder. A test fails without it.
func clients(t *testing.T) kit {
	t.Helper()
	installed.once.Do(func() { installed.kit, installed.err = install() })
	if installed.err != nil {
		t.Fatal(installed.err)
	}
	return installed.kit
}

// cacheDir is a folder of the user's own; where there is no home, one among the temporary files.
func cacheDir() string {
	if dir := os.Getenv("NIMLET_TEST_CACHE"); dir != "" {
		return dir
	}
	if dir, err := os.UserCacheDir(); err == nil {
		return filepath.Join(dir, "nimlet-interop")
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("nimlet-interop-%d", os.Getuid()))
}

// install installs what the lock file names, unless that has been done. Runs that come together wait
// for the first. An installation that was broken off is begun again.
func install() (kit, error) {
	root, err := filepath.Abs(cacheDir())
	if err != nil {
		return kit{}, err
	}
	k := kit{filepath.Join(root, fmt.Sprintf("%.12x", sha256.Sum256(append(manifest, locked...))))}
	if err := os.MkdirAll(k.dir, 0o755); err != nil {
		return kit{}, fmt.Errorf("installing clients: %w; NIMLET_TEST_CACHE names another folder for them", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	lock := flock.New(filepath.Join(k.dir, "lock"))
	if _, err := lock.TryLockContext(ctx, time.Second); err != nil {
		return kit{}, fmt.Errorf("waiting for another run to install clients in %s: %w", k.dir, err)
	}
	defer lock.Close()
	done := filepath.Join(k.dir, "installed")
	if _, err := os.Stat(done); err == nil {
		return k, nil
	}
	if err := k.npm(ctx); err != nil {
		return kit{}, err
	}
	return k, os.WriteFile(done, nil, 0o644)
}

func (k kit) npm(ctx context.Context) error {
	for name, data := range map[string][]byte{"package.json": manifest, "package-lock.json": locked} {
		if err := os.WriteFile(filepath.Join(k.dir, name), data, 0o644); err != nil {
			return err
		}
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return fmt.Errorf("these tests need npm, which comes with Node 20 or later (https://nodejs.org, or: apt-get install npm): %w", err)
	}
	// Not npm ci: it refuses a lock file that lacks an optional package for another system, and mirrors
	// of the registry do not have them all.
	c := exec.CommandContext(ctx, npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	c.Dir = k.dir
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("installing clients: %w\n%s\nin %s run: npm install --ignore-scripts", err, out, k.dir)
	}
	return nil
}

// node returns the Node that runs the clients: the one in the kit, or that of the machine.
func (k kit) node(t *testing.T) string {
	t.Helper()
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	own := filepath.Join(k.dir, "node_modules", "node-"+runtime.GOOS+"-"+arch, "bin", "node")
	if _, err := os.Stat(own); err == nil {
		return own
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatalf("these tests need Node 22.13 or later (https://nodejs.org): %v", err)
	}
	return node
}

func (k kit) sdk() string {
	return filepath.Join(k.dir, "node_modules", "@agentclientprotocol", "sdk", "dist", "v1", "stable", "acp.js")
}

func (k kit) acpx() string {
	return filepath.Join(k.dir, "node_modules", "acpx", "dist", "cli.js")
}
