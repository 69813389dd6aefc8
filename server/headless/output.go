package headless

import (
	"os"
	"strings"
	"sync"
	"unicode"
)

// An output is standard output. After the first write that fails nothing more is written.
type output struct {
	file *os.File

	mu     sync.Mutex
	err    error
	broken chan struct{} // closed when err is set
}

func newOutput(f *os.File) *output { return &output{file: f, broken: make(chan struct{})} }

func (o *output) write(s string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return
	}
	if _, err := o.file.WriteString(s); err != nil {
		o.failLocked(err)
	}
}

// fail has the output count as broken.
func (o *output) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failLocked(err)
}

func (o *output) failLocked(err error) {
	if o.err == nil {
		o.err = err
		close(o.broken)
	}
}

func (o *output) failed() error {
	select {
	case <-o.broken:
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.err
	default:
		return nil // also while a write is stuck, which holds mu
	}
}

// Terminal says that a person is at the other end of f: it is a character device other than the null
// device.
func Terminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// plain drops the control characters of s but for newline and tab.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}
