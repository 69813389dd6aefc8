package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
)

// TestMain has the test binary play nimlet: when it is called by that name it is the program.
func TestMain(m *testing.M) {
	testscript.Main(leakChecked{m}, map[string]func(){"nimlet": main})
}

// leakChecked fails a run of tests that leaves a goroutine behind.
type leakChecked struct{ *testing.M }

func (m leakChecked) Run() int {
	code := m.M.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	return code
}

// TestScript runs each script in a workspace of its own, $WORK/ws, with $WORK/home as its empty home
// folder. The commands beside those of testscript are in script_test.go and dialogue_test.go.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setUpScript,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":    status,
			"interrupt": interrupt,
			"closing":   closing,
			"gone":      gone,
			"crlf":      crlf,
			"append":    appendLine,
			"session":   newestSession,
			"acp":       playACP,
		},
	})
}

func setUpScript(env *testscript.Env) error {
	home, workspace := filepath.Join(env.WorkDir, "home"), filepath.Join(env.WorkDir, "ws")
	for _, dir := range []string{home, workspace} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	env.Cd = workspace
	env.Setenv("HOME", home)
	env.Setenv("USERPROFILE", home)
	return nil
}
