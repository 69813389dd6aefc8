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
// which of them are unsaved, and some clients hand out stale text after a file was changed behind
// their back. So a text that differs from the disk is an unsaved one only while the disk is as we
// last saw it; when the disk has changed since, the disk is what counts, and goes on to until the
// client has another text (ACP, "fs").
type buffers struct {
	editor *editor

	mu    sync.Mutex
	disk  map[string]digest // what each path held when we last saw it
	looks map[string]look   // what the client's text was when we last asked
	mute  bool              // the client did not answer; it is not asked again
}

type digest = [sha256.Size]byte

// A look is what asking for a text has told.
type look struct {
	text    digest
	unsaved bool
}

func newBuffers(e *editor) *buffers {
	return &buffers{editor: e, disk: map[string]digest{}, looks: map[string]look{}}
}

// Unsaved implements builtin.Buffers.
func (b *buffers) Unsaved(ctx context.Context, path string, disk []byte) (string, bool) {
	text, ok := b.read(ctx, path)
	b.mu.Lock()
	defer b.mu.Unlock()
	if !ok {
		delete(b.looks, path)
		return "", false
	}
	now := look{text: sha256.Sum256(plain([]byte(text)))}
	before, asked := b.looks[path]
	seen, known := b.disk[path]
	switch {
	case now.text == sha256.Sum256(plain(disk)), known && seen != sha256.Sum256(disk):
	case asked && now.text == before.text:
		now.unsaved = before.unsaved // a stale text stays stale, whatever we wrote meanwhile
	default:
		now.unsaved = true
	}
	b.looks[path] = now
	return text, now.unsaved
}

// plain is a text as it is compared: clients give texts without byte order mark and with line ends
// of their own.
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
		b.giveUp(method)
	}
	return err
}

func (b *buffers) giveUp(method string) {
	b.mu.Lock()
	told := b.mute
	b.mute = true
	b.mu.Unlock()
	if told {
		return
	}
	b.editor.notice(agent.Notice{
		Level: agent.Warning, Title: fmt.Sprintf("The editor did not answer %s within %v: files are used as they are on disk, without unsaved changes.", method, fsPatience),
	})
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
	list := make([]string, 0, len(b.looks))
	for path, l := range b.looks {
		if l.unsaved {
			list = append(list, path)
		}
	}
	return list
}
