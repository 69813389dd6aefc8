//go:build !windows

package acp

// filePath makes a path of the host and path of a file URI. A host other than this machine stays
// in front, as it is written for shares.
func filePath(host, p string) string {
	if host != "" && host != "localhost" {
		return "//" + host + p
	}
	return p
}

// slashed makes of an absolute path the path of a file URI.
func slashed(p string) string { return p }
