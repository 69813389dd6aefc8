package acp

import (
	"path/filepath"
	"regexp"
	"strings"
)

var drive = regexp.MustCompile(`^/[A-Za-z]:`)

// filePath makes a Windows path of the host and path of a file URI.
func filePath(host, p string) string {
	if host != "" && host != "localhost" {
		return filepath.FromSlash("//" + host + p)
	}
	if drive.MatchString(p) {
		p = p[1:]
	}
	return filepath.FromSlash(p)
}

// slashed makes of an absolute path the path of a file URI.
func slashed(p string) string {
	if !filepath.IsAbs(p) {
		return p
	}
	p = filepath.ToSlash(p)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	return p
}
