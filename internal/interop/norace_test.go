//go:build !race

package interop

const slowed = false
