package builtin

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// An encoding is how a file spells text in bytes. What is shown and edited is always the text,
// without a byte order mark; an edit puts it back into the encoding it came in.
type encoding int

// The encodings. Text that is UTF-8 but for some broken bytes is plain: the broken bytes stay.
const (
	plain   encoding = iota // UTF-8
	marked                  // UTF-8 after a byte order mark
	utf16le                 // with a byte order mark
	utf16be                 // with a byte order mark
	latin1                  // not UTF-8; each byte is taken as the character of that number
	unknown                 // no text
)

// String names e for a header; "" for what nobody needs to be told.
func (e encoding) String() string {
	return [...]string{"", "UTF-8 with BOM", "UTF-16 LE", "UTF-16 BE", "Latin-1", "not text"}[e]
}

const (
	bom     = "\uFEFF"
	markLE  = "\xFF\xFE"
	markBE  = "\xFE\xFF"
	maxByte = 0xFF
)

// decodeText returns the text that data spells.
func decodeText(data []byte) (string, encoding) {
	switch {
	case bytes.HasPrefix(data, []byte(bom)):
		return string(data[len(bom):]), marked
	case bytes.HasPrefix(data, []byte(markLE)):
		return decodeUTF16(data, binary.LittleEndian, utf16le)
	case bytes.HasPrefix(data, []byte(markBE)):
		return decodeUTF16(data, binary.BigEndian, utf16be)
	case bytes.IndexByte(data, 0) >= 0:
		return "", unknown
	case utf8.Valid(data) || mostlyUTF8(data):
		return string(data), plain
	}
	var text strings.Builder
	for _, b := range data {
		text.WriteRune(rune(b))
	}
	return text.String(), latin1
}

func decodeUTF16(data []byte, order binary.ByteOrder, e encoding) (string, encoding) {
	var units []uint16
	for rest := data[2:]; len(rest) > 1; rest = rest[2:] {
		units = append(units, order.Uint16(rest))
	}
	text := string(utf16.Decode(units))
	// Half a pair or a last odd byte would be lost in an edit; then it is no text to us.
	if back, err := encodeText(text, e); err != nil || !bytes.Equal(back, data) {
		return "", unknown
	}
	return text, e
}

// mostlyUTF8 tells a UTF-8 file with some broken bytes from a file in an older encoding.
func mostlyUTF8(data []byte) bool {
	whole, broken := 0, 0
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		switch {
		case r == utf8.RuneError && size == 1:
			broken++
		case size > 1:
			whole++
		}
		data = data[size:]
	}
	return whole > broken
}

// encodeText spells text in e. An error says which character e has not.
func encodeText(text string, e encoding) ([]byte, error) {
	switch e {
	case marked:
		return []byte(bom + text), nil
	case utf16le, utf16be:
		order, mark := binary.AppendByteOrder(binary.LittleEndian), markLE
		if e == utf16be {
			order, mark = binary.BigEndian, markBE
		}
		data := []byte(mark)
		for _, unit := range utf16.Encode([]rune(text)) {
			data = order.AppendUint16(data, unit)
		}
		return data, nil
	case latin1:
		data := make([]byte, 0, len(text))
		for _, r := range text {
			if r > maxByte {
				return nil, fmt.Errorf("the file is not in UTF-8, and its encoding, taken for Latin-1, has no %q", r)
			}
			data = append(data, byte(r))
		}
		return data, nil
	}
	return []byte(text), nil
}

// version is the short hash by which an edit says which text it was meant for.
func version(text string) string {
	sum := sha256.Sum256([]byte(text))
	return shortSum(sum[:])
}

func shortSum(sum []byte) string { return hex.EncodeToString(sum[:8]) }

// A versioner computes the version of a text that is written to it in pieces.
type versioner struct {
	hash hash.Hash
	size int // bytes written
}

func newVersion() *versioner { return &versioner{hash: sha256.New()} }

func (v *versioner) Write(data []byte) (int, error) {
	v.size += len(data)
	return v.hash.Write(data)
}

func (v *versioner) String() string { return shortSum(v.hash.Sum(nil)) }

// countLines counts the lines of text; a last one without line end counts.
func countLines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

// endings names the line endings of text for a header; "" for plain LF.
func endings(text string) string {
	crlf := strings.Count(text, "\r\n")
	switch {
	case crlf == 0:
		return ""
	case crlf == strings.Count(text, "\n"):
		return "CRLF"
	}
	return "CRLF and LF mixed"
}

// toLF is text with every CRLF as LF: the form in which texts are compared.
func toLF(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// toCRLF is text with every line end as CRLF.
func toCRLF(text string) string { return strings.ReplaceAll(toLF(text), "\n", "\r\n") }
