package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// syncDelay is how long an fsync that nobody waits for is put off. A fast turn then pays for one
// alone, instead of waiting behind that of its first step.
const syncDelay = 50 * time.Millisecond

// A syncer brings what was appended to the disk, behind the back of those who append. At most
// one goroutine runs; it ends when all is there, or at the first error.
type syncer struct {
	mu      sync.Mutex
	want    uint64        // appends so far
	done    uint64        // of these on disk
	running bool          // the goroutine is
	ended   chan struct{} // closed when it ends
	closed  bool          // no goroutine begins any more
	timer   *time.Timer   // begins what soon asked for; nil before the first time
	armed   bool          // timer is running
	err     error         // the first; after it nothing is known of what the disk holds
	wait    sync.WaitGroup
}

func (y *syncer) appended() {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.want++
}

// failure returns why the disk cannot be relied on any more, or nil.
func (y *syncer) failure() error {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.err
}

// soon has start called in a while, unless somebody flushes before.
func (y *syncer) soon(fsync func() error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	switch {
	case y.armed || y.closed:
		return
	case y.timer == nil:
		y.timer = time.AfterFunc(syncDelay, func() {
			y.disarm()
			y.start(fsync)
		})
	default:
		y.timer.Reset(syncDelay)
	}
	y.armed = true
}

func (y *syncer) disarm() {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.armed {
		y.armed = false
		y.timer.Stop()
	}
}

// start runs fsync until all that was appended is on disk, unless that happens already. The
// channel closes when it ends.
func (y *syncer) start(fsync func() error) <-chan struct{} {
	y.mu.Lock()
	defer y.mu.Unlock()
	if !y.running && !y.closed {
		y.running, y.ended = true, make(chan struct{})
		y.wait.Go(func() { y.run(fsync) })
	}
	return y.ended
}

func (y *syncer) run(fsync func() error) {
	for {
		target, more := y.next()
		if !more {
			return
		}
		err := fsync()
		y.mu.Lock()
		if y.done = target; err != nil {
			y.err = fmt.Errorf("the disk did not keep what was written; check it, then open the session again: %w", err)
		}
		y.mu.Unlock()
	}
}

// next returns how far the next fsync brings us; more is false, and the goroutine over, when
// there is nothing left to do.
func (y *syncer) next() (target uint64, more bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.done == y.want || y.err != nil {
		y.running = false
		close(y.ended)
		return 0, false
	}
	return y.want, true
}

// flush waits until all appended before the call is on disk, or for cancelled, which may be nil.
func (y *syncer) flush(fsync func() error, cancelled <-chan struct{}) error {
	y.disarm()
	y.mu.Lock()
	target := y.want
	y.mu.Unlock()
	for {
		y.mu.Lock()
		err, there := y.err, y.done >= target
		y.mu.Unlock()
		if err != nil || there {
			return err
		}
		select {
		case <-y.start(fsync):
		case <-cancelled:
			return context.Canceled
		}
	}
}

// close brings the rest to the disk and returns when no goroutine runs, nor will.
func (y *syncer) close(fsync func() error) error {
	err := y.flush(fsync, nil)
	y.mu.Lock()
	y.closed = true
	y.mu.Unlock()
	y.disarm()
	y.wait.Wait()
	return err
}

// Sync has what was appended brought to the disk soon and returns at once.
func (s *Store) Sync() {
	s.mu.Lock()
	idle := s.file == nil || s.readonly || s.closed
	s.mu.Unlock()
	if !idle {
		s.sync.soon(s.fsync)
	}
}

// Flush waits until all that was appended is on disk. An error of the disk is final: from then on Append returns it too.
func (s *Store) Flush(ctx context.Context) error {
	s.mu.Lock()
	idle := s.file == nil || s.readonly || s.closed
	if !idle && !s.index.entered { // a list must find it; that it was active is told by its file
		s.refreshLocked()
	}
	s.mu.Unlock()
	if idle {
		return s.sync.failure()
	}
	if err := s.sync.flush(s.fsync, ctx.Done()); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("saving session %s: %w", s.header.ID, err)
	}
	return nil
}

// fsync brings the index first: a session on disk is then always one that can be found.
func (s *Store) fsync() error {
	s.mu.Lock()
	file, entered := s.file, s.index.unsynced
	s.index.unsynced = false
	s.mu.Unlock()
	if entered {
		syncIndex(s.dir)
	}
	return file.Sync()
}

// Close saves what was appended, ends what the store began and gives the session free. A second
// call does nothing. An unfinished partial stays for the next Open.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	if s.file != nil && !s.readonly {
		s.refreshLocked()
	}
	s.mu.Unlock()
	err := s.sync.close(s.fsync)
	if err := errors.Join(err, settled(s.dir, s.closeFiles)); err != nil {
		return fmt.Errorf("closing session %s: %w", s.header.ID, err)
	}
	return nil
}

func (s *Store) closeFiles() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	errs = append(errs, s.partial.close())
	if s.file != nil {
		errs = append(errs, s.file.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.release())
	}
	return errors.Join(errs...)
}
