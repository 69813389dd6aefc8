package acp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"nimlet/agent"
)

// fsPatience is how long a client may take to hand over a text before the disk is used.
const fsPatience = 10 * time.Second

// buffers are the texts a client has open, seen through fs/read_text_file. ACP does not tell
// which of them are unsaved, and some clients hand out stale text after a command changed a file.
// So a text that differs from the disk is an unsaved one only while the disk is as we last saw it;
// when the disk has changed since, the disk is what counts (ACP, "fs").
type buffers struct {
	editor *editor

	mu    sync.Mutex
	disk  map[string][sha256.Size]byte // what each path held when we last saw it
	dirty map[string]bool
	mute  bool // the client did not answer; it is not asked again
}

func newBuffers(e *editor) *buffers {
	return &buffers{editor: e, disk: map[string][sha256.Size]byte{}, dirty: map[string]bool{}}
}

// Unsaved implements builtin.Buffers.
func (b *buffers) Unsaved(ctx context.Context, path string, disk []byte) (string, bool) {
	text, ok := b.read(ctx, path)
	b.mu.Lock()
	defer b.mu.Unlock()
	seen, looked := b.disk[path]
	unsaved := ok && !sameText(text, disk) && (!looked || seen == sha256.Sum256(disk))
	b.dirty[path] = unsaved
	if !unsaved {
		delete(b.dirty, path)
	}
	return text, unsaved
}

// sameText compares by content: clients give texts without byte order mark and with line ends of
// their own.
func sameText(text string, disk []byte) bool {
	return bytes.Equal(plain([]byte(text)), plain(disk))
}

func plain(b []byte) []byte {
	return bytes.ReplaceAll(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")), []byte("\r\n"), []byte("\n"))
}

// read asks for the client's text. A client that does not know the file, or fails, leaves the disk.
func (b *buffers) read(ctx context.Context, path string) (string, bool) {
	if b.isMute() {
		return "", false
	}
	var r readFileResponse
	err := b.call(ctx, methodReadFile, readFileRequest{SessionID: b.editor.sessionID(), Path: path}, &r)
	return deref(r.Content), err == nil && r.Content != nil
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// call bounds a request to the client. One that is not answered is the last.
func (b *buffers) call(ctx context.Context, method string, params, result any) error {
	bounded, cancel := context.WithTimeout(ctx, fsPatience)
	defer cancel()
	err := b.editor.c.call(bounded, method, params, result)
	if err != nil && ctx.Err() == nil && errors.Is(bounded.Err(), context.DeadlineExceeded) {
		b.mu.Lock()
		b.mute = true
		b.mu.Unlock()
		b.editor.notice(agent.Notice{
			Level: agent.Warning, Title: fmt.Sprintf("The editor did not answer %s within %v: files are used as they are on disk, without unsaved changes.", method, fsPatience),
		})
	}
	return err
}

func (b *buffers) isMute() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mute
}

// Write implements builtin.Buffers: unsaved texts are written where they are, in the editor.
func (b *buffers) Write(ctx context.Context, path, text string, unsaved bool) (bool, error) {
	c := b.editor.c
	if !c.caps.FS.V.WriteTextFile.V || b.isMute() || !(unsaved || c.settings.FS == "client") {
		return false, nil
	}
	err := b.call(ctx, methodWriteFile, writeFileRequest{SessionID: b.editor.sessionID(), Path: path, Content: text}, nil)
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() != nil:
		return false, ctx.Err()
	case unsaved:
		return false, fmt.Errorf("the editor holds unsaved changes of %s and did not take the new text: %w", path, err)
	}
	b.editor.notice(agent.Notice{Level: agent.Warning, Title: fmt.Sprintf("The editor did not write %s, so it was written to disk: %v", path, err)})
	return false, nil
}

// Saw implements builtin.Buffers.
func (b *buffers) Saw(path string, disk []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.disk[path] = sha256.Sum256(disk)
}

// Dirty implements builtin.Buffers. ACP does not tell, so these are the ones found by looking.
func (b *buffers) Dirty() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := make([]string, 0, len(b.dirty))
	for path := range b.dirty {
		list = append(list, path)
	}
	return list
}
