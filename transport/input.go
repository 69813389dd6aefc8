package transport

import "io"

const (
	// maxMessage bounds one message. A prompt with several images, in base64, stays well under it.
	maxMessage = 128 << 20
	// chunk is the smallest buffer: what a Linux pipe holds.
	chunk = 64 << 10
	// keep is the buffer that may stay allocated between messages.
	keep = 1 << 20
)

// An input is what has been read of a stream and not yet used. Slices it gives out are valid until
// the next fill.
type input struct {
	src   io.Reader
	buf   []byte
	start int   // buf[start:] is pending
	err   error // what ended src; told after the last byte
	max   int   // bytes of the longest message; longer ones are read past
}

func (i *input) pending() []byte { return i.buf[i.start:] }

// take uses up the first n pending bytes and returns them.
func (i *input) take(n int) []byte {
	b := i.buf[i.start : i.start+n]
	i.start += n
	return b
}

// untake gives back the last n bytes that were taken, with no fill in between.
func (i *input) untake(n int) { i.start -= n }

// fill reads once, and returns an error only if that added nothing.
func (i *input) fill() error {
	i.makeRoom()
	for range 100 {
		if i.err != nil {
			return i.err
		}
		n, err := i.src.Read(i.buf[len(i.buf):cap(i.buf)])
		i.buf, i.err = i.buf[:len(i.buf)+n], err
		if n > 0 {
			return nil
		}
	}
	return io.ErrNoProgress
}

// makeRoom leaves space for a read behind the pending bytes. It doubles, so that a long message costs
// time in proportion to its length, and shrinks again, so that one does not cost memory for ever.
func (i *input) makeRoom() {
	size, pending := cap(i.buf), i.pending()
	switch {
	case size > keep && len(pending) < size/8:
		size = 2 * len(pending)
	case size-len(i.buf) >= chunk/4:
		return
	case i.start < len(i.buf)/2:
		size *= 2
	}
	size = max(size, chunk)
	if size == cap(i.buf) {
		i.buf = append(i.buf[:0], pending...)
	} else {
		i.buf = append(make([]byte, 0, size), pending...)
	}
	i.start = 0
}
