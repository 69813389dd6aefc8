//go:build !windows && !darwin

package builtin

// sameName compares names of files as this system does by default: byte by byte.
func sameName(a, b string) bool { return a == b }

func plainSpelling(path string) string { return path }

func misleading(string) error { return nil }
