package acp

import (
	"runtime"
	"testing"
)

func TestPathsOfURIs(t *testing.T) {
	for _, c := range []struct{ uri, unix, windows string }{
		{"file:///home/me/a.go", "/home/me/a.go", `\home\me\a.go`},
		{"file:///home/me/my%20file%25.go", "/home/me/my file%.go", `\home\me\my file%.go`},
		{"file:///home/%C3%BC/%E6%97%A5.go", "/home/ü/日.go", `\home\ü\日.go`},
		{"file:///home/a+b%2Bc.go", "/home/a+b+c.go", `\home\a+b+c.go`},
		{"file:///home/a%23b%3Fc.go", "/home/a#b?c.go", `\home\a#b?c.go`},
		{"file://localhost/home/a.go", "/home/a.go", `\home\a.go`},
		{"FILE:///home/a.go", "/home/a.go", `\home\a.go`},
		{"file:///C:/x/a.go", "/C:/x/a.go", `C:\x\a.go`},
		{"file:///c:/x/a%20b.go", "/c:/x/a b.go", `c:\x\a b.go`},
		{"file:///c%3A/x/a.go", "/c:/x/a.go", `c:\x\a.go`},
		{"file://host/share/a.go", "//host/share/a.go", `\\host\share\a.go`},
		{"file://wsl.localhost/Ubuntu/a.go", "//wsl.localhost/Ubuntu/a.go", `\\wsl.localhost\Ubuntu\a.go`},
		{"file:///home/100%/a.go", "/home/100%/a.go", `\home\100%\a.go`},
		{`C:\x\a.go`, `C:\x\a.go`, `C:\x\a.go`},
		{"/home/me/my%20file.go", "/home/me/my%20file.go", "/home/me/my%20file.go"},
		{`\\host\share\a.go`, `\\host\share\a.go`, `\\host\share\a.go`},
		{"https://example.com/a%20b", "https://example.com/a%20b", "https://example.com/a%20b"},
		{"untitled:Untitled-1", "untitled:Untitled-1", "untitled:Untitled-1"},
	} {
		want := c.unix
		if runtime.GOOS == "windows" {
			want = c.windows
		}
		if got := pathOf(c.uri); got != want {
			t.Errorf("%s is %q, want %q", c.uri, got, want)
		}
	}
}

func TestURIsOfPathsLeadBack(t *testing.T) {
	paths := []string{"/home/me/a.go", "/home/me/my file%.go", "/home/ü/日.go", "/home/a#b?c.go", "//host/share/a b.go"}
	if runtime.GOOS == "windows" {
		paths = []string{`C:\x\a.go`, `c:\x\a b%.go`, `\\host\share\ü.go`}
	}
	for _, path := range paths {
		if got := pathOf(uriOf(path)); got != path {
			t.Errorf("%q became %s and that %q", path, uriOf(path), got)
		}
	}
	for _, other := range []string{"https://example.com/a", "untitled:Untitled-1"} {
		if got := uriOf(other); got != other {
			t.Errorf("%q became %q", other, got)
		}
	}
}
