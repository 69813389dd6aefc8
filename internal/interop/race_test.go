//go:build race

package interop

// slowed says that this process is slowed by the race detector, many times more than the agent it talks to.
const slowed = true
