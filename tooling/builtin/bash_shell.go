package builtin

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// A shell is a program that runs command texts.
type shell struct {
	path  string
	text  []string // arguments that a command text follows
	file  []string // arguments that the name of a file with a command text follows
	ext   string   // of such a file
	posix bool     // it understands what bash does
}

// maxArgument is the longest text, in bytes, that is handed over as an argument. Linux takes
// 128 KiB in one, Windows 32 KiB in all; a longer one is put in a file.
const maxArgument = 24 << 10

// words returns the arguments that have the shell run command; cleanup is called afterwards.
func (s shell) words(command string) (words []string, cleanup func(), err error) {
	if strings.ContainsRune(command, 0) {
		return nil, nil, errors.New("the command contains a NUL byte")
	}
	if len(command) <= maxArgument {
		return append(s.text[:len(s.text):len(s.text)], command), func() {}, nil
	}
	file, err := os.CreateTemp("", "nimlet-*"+s.ext)
	if err != nil {
		return nil, nil, fmt.Errorf("keeping a long command for the shell: %w", err)
	}
	remove := func() { _ = os.Remove(file.Name()) } // at worst it stays in the folder for such files
	_, err = file.WriteString(command)
	if err = errors.Join(err, file.Close()); err != nil {
		remove()
		return nil, nil, fmt.Errorf("keeping a long command for the shell: %w", err)
	}
	return append(s.file[:len(s.file):len(s.file)], file.Name()), remove, nil
}

func bashAt(path string) shell {
	plain := []string{"--noprofile", "--norc"} // never what a login shell would read
	return shell{path: path, text: append(plain, "-c"), file: plain, ext: ".sh", posix: true}
}
