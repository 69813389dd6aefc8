package session

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain lets the test binary also be the programs that the tests kill and starve: with
// roleEnv set it plays that part instead (child_test.go).
func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		os.Exit(play(role))
	}
	goleak.VerifyTestMain(m)
}
