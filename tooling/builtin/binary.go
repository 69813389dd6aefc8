package builtin

import (
	"bytes"
	"mime"
	"net/http"
	"strings"
)

// signatures names files by their first bytes, where http.DetectContentType knows them not or
// by a name nobody uses.
var signatures = []struct{ magic, name string }{
	{"\x7fELF", "an ELF program or library"},
	{"MZ", "a Windows program or library"},
	{"\xfe\xed\xfa\xce", "a macOS program or library"},
	{"\xfe\xed\xfa\xcf", "a macOS program or library"},
	{"\xcf\xfa\xed\xfe", "a macOS program or library"},
	{"\xca\xfe\xba\xbe", "a Java class or a macOS program"},
	{"\x00asm", "a WebAssembly module"},
	{"!<arch>\n", "an archive of object files"},
	{"SQLite format 3\x00", "an SQLite database"},
	{"%PDF-", "a PDF document"},
	{"PK\x03\x04", "a ZIP archive (or a document packed as one)"},
	{"\x1f\x8b", "gzip data"},
	{"BZh", "bzip2 data"},
	{"\xfd7zXZ\x00", "xz data"},
	{"\x28\xb5\x2f\xfd", "zstd data"},
	{"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"},
	{"PACK\x00", "a git pack"},
	{"DIRC\x00", "a git index"},
	{"\xd0\xcf\x11\xe0", "an old Microsoft Office document"},
}

// headSize is how much of a file says whether it is text.
const headSize = 8192

// binaryName says what a file that begins with head is, "" when it seems to be text.
func binaryName(head []byte) string {
	if bytes.HasPrefix(head, []byte(markLE)) || bytes.HasPrefix(head, []byte(markBE)) {
		return ""
	}
	// "MZ" and "BZh" may well begin a sentence; no sentence has control bytes.
	if !hasControl(head) {
		return ""
	}
	for _, s := range signatures {
		if bytes.HasPrefix(head, []byte(s.magic)) {
			return s.name
		}
	}
	if len(head) > 262 && string(head[257:262]) == "ustar" {
		return "a tar archive"
	}
	if kind := contentType(head); kind != "application/octet-stream" && !strings.HasPrefix(kind, "text/") {
		return "of type " + kind
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return "binary data"
	}
	return ""
}

// hasControl reports bytes that text does not hold.
func hasControl(head []byte) bool {
	return bytes.HasPrefix(head, []byte("%PDF-")) || bytes.ContainsFunc(head, func(r rune) bool {
		return r < ' ' && !strings.ContainsRune("\t\n\v\f\r\x1b", r)
	})
}

// contentType is the MIME type that head looks like, without parameters.
func contentType(head []byte) string {
	kind, _, err := mime.ParseMediaType(http.DetectContentType(head))
	if err != nil {
		return "application/octet-stream"
	}
	return kind
}

// isPicture reports the types of image that models take.
func isPicture(contentType string) bool {
	switch contentType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}
