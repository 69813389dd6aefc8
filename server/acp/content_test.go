package acp_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"nimlet/internal/acptest"
)

// A pixel is a picture: a GIF of one.
const pixel = "R0lGODlhAQABAAAAACwAAAAAAQABAAA="

func block(fields ...any) map[string]any {
	b := map[string]any{}
	for i := 0; i < len(fields); i += 2 {
		b[fields[i].(string)] = fields[i+1]
	}
	return b
}

// send prompts with blocks and returns what came back.
func (d *desk) sendBlocks(id string, blocks ...map[string]any) []acptest.Update {
	d.t.Helper()
	start := len(d.Updates(id))
	d.Go("session/prompt", map[string]any{"sessionId": id, "prompt": blocks}).Wait("end_turn")
	return d.Updates(id)[start:]
}

func TestEveryAdvertisedKindOfContentReachesTheModel(t *testing.T) {
	blob := base64.StdEncoding.EncodeToString([]byte("\x00\x01binary"))
	for name, c := range map[string]struct {
		block map[string]any
		want  string // what the answer says of it
	}{
		"image":                   {block("type", "image", "mimeType", "image/gif", "data", pixel), "image/gif, 23 bytes"},
		"image with uri":          {block("type", "image", "mimeType", "image/gif", "data", pixel, "uri", "file:///a.gif"), "image/gif, 23 bytes"},
		"image as a blob":         {block("type", "resource", "resource", block("uri", "file:///tmp/a.gif", "mimeType", "image/gif", "blob", pixel)), "image/gif, 23 bytes"},
		"text resource":           {block("type", "resource", "resource", block("uri", "file:///tmp/my%20notes.txt", "text", "hello")), "notes.txt"},
		"text resource elsewhere": {block("type", "resource", "resource", block("uri", "zed:///thread/7", "mimeType", "text/markdown", "text", "# hello")), "text/markdown, 7 bytes"},
		"other blob":              {block("type", "resource", "resource", block("uri", "file:///tmp/a.bin", "mimeType", "application/x-thing", "blob", blob)), "application/x-thing, 8 bytes"},
		"link":                    {block("type", "resource_link", "uri", "file:///tmp/x.go", "name", "x.go", "mimeType", "text/x-go", "size", 3), "x.go"},
		"annotated":               {block("type", "text", "text", "hello", "annotations", block("priority", 1)), "hello"},
	} {
		t.Run(name, func(t *testing.T) {
			d, id := ready(t, `{}`, nil)
			text := acptest.Text(d.sendBlocks(id, c.block), "agent_message_chunk")
			if !strings.Contains(text, c.want) {
				t.Errorf("the model answers %q, want %q in it", text, c.want)
			}
		})
	}
}

func TestUnusableContentIsRefusedByNameAndCostsNothing(t *testing.T) {
	d, id := ready(t, `{}`, nil)
	for name, c := range map[string]struct {
		block map[string]any
		want  string
	}{
		"audio":              {block("type", "audio", "mimeType", "audio/wav", "data", "AAAA"), "audio"},
		"unknown":            {block("type", "hologram"), "hologram"},
		"no type":            {block("text", "x"), "type"},
		"image without data": {block("type", "image", "mimeType", "image/png"), "data"},
		"image not base64":   {block("type", "image", "mimeType", "image/png", "data", "?"), "base64"},
		"image of no image":  {block("type", "image", "mimeType", "text/plain", "data", "AAAA"), "image/"},
		"text without text":  {block("type", "text"), "text"},
		"text a number":      {block("type", "text", "text", 1), "prompt[1]"},
		"empty resource":     {block("type", "resource", "resource", block("uri", "file:///a")), "blob"},
		"resource no uri":    {block("type", "resource", "resource", block("text", "a")), "uri"},
		"blob not base64":    {block("type", "resource", "resource", block("uri", "file:///a", "blob", "?")), "base64"},
		"link no uri":        {block("type", "resource_link", "name", "a"), "uri"},
	} {
		t.Run(name, func(t *testing.T) {
			err := d.Fail("session/prompt", map[string]any{"sessionId": id, "prompt": []any{block("type", "text", "text", "first"), c.block}})
			if err.Code != -32602 || !strings.Contains(err.Message, c.want) {
				t.Errorf("answered %v, want -32602 with %q", err, c.want)
			}
		})
	}
	if err := d.Fail("session/prompt", map[string]any{"sessionId": id, "prompt": []any{}}); err.Code != -32602 {
		t.Errorf("an empty prompt is answered %v", err)
	}
	if updates := d.Updates(id); acptest.Text(updates, "agent_message_chunk") != "" {
		t.Errorf("something was answered: %v", updates)
	}
	d.Say(id, "hello")
}

func TestOtherBinaryDataIsKeptInAFileThatToolsCanReach(t *testing.T) {
	d, id := ready(t, `{}`, nil)
	data := []byte("\x00\x01binary")
	text := acptest.Text(d.sendBlocks(id, block("type", "resource", "resource",
		block("uri", "file:///tmp/../etc/my%20data.bin", "blob", base64.StdEncoding.EncodeToString(data)))), "agent_message_chunk")
	kept, err := filepath.Glob(filepath.Join(string(d.home), "sessions", "*", "attached-*"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept %q (%v)", kept, err)
	}
	if got, err := os.ReadFile(kept[0]); string(got) != string(data) {
		t.Errorf("the file holds %q (%v)", got, err)
	}
	if !strings.Contains(text, "my data.bin") {
		t.Errorf("the model is told %q", text)
	}
	if text := mustClose(t, d.Say(id, "read "+kept[0]), "failed"); !strings.Contains(text, "not text") {
		t.Errorf("the file is out of reach: %q", text)
	}
}

func TestAttachmentsAreReplayedAsTheyWere(t *testing.T) {
	d, id := ready(t, `{}`, nil)
	link := filepath.ToSlash(filepath.Join(d.dir, "my notes.txt"))
	d.sendBlocks(id,
		block("type", "text", "text", "look at "),
		block("type", "image", "mimeType", "image/gif", "data", pixel),
		block("type", "resource", "resource", block("uri", "file:///tmp/my%20notes.txt", "mimeType", "text/plain", "text", "they say ü")),
		block("type", "resource_link", "uri", "file://"+strings.ReplaceAll(link, " ", "%20"), "name", "my notes"))
	d.again(nil)
	d.Initialize(`{}`)
	d.Load(id, d.dir)
	var kinds []string
	for _, u := range d.Updates(id) {
		if u.Kind != "user_message_chunk" {
			continue
		}
		content, _ := u.Body["content"].(map[string]any)
		kinds = append(kinds, content["type"].(string))
		switch content["type"] {
		case "image":
			if content["data"] != pixel || content["mimeType"] != "image/gif" {
				t.Errorf("the image came back as %v", content)
			}
		case "resource":
			r, _ := content["resource"].(map[string]any)
			if r["uri"] != "file:///tmp/my%20notes.txt" || r["text"] != "they say ü" {
				t.Errorf("the resource came back as %v", r)
			}
		case "resource_link":
			if !regexp.MustCompile(`^file:///.*/my%20notes\.txt$`).MatchString(content["uri"].(string)) || content["name"] != "my notes" {
				t.Errorf("the link came back as %v", content)
			}
		}
	}
	if got := strings.Join(kinds, " "); got != "text image resource resource_link" {
		t.Errorf("replayed %q", got)
	}
}

// Attachments are put aside as soon as their message is read, while prompts before it may have the
// conversation begin anew. (The race detector is what sees it.)
func TestAttachmentsMayComeWhileAConversationBeginsAnew(t *testing.T) {
	d, id := ready(t, `{}`, nil)
	attachment := block("type", "resource", "resource", block("uri", "file:///tmp/a.bin", "blob", base64.StdEncoding.EncodeToString([]byte("\x00\x01"))))
	many := slices.Repeat([]any{attachment}, 100)
	var begun []*acptest.Call
	for range 10 {
		begun = append(begun, d.Prompt(id, "/new"))
	}
	d.Call("_nimlet/steer", map[string]any{"sessionId": id, "prompt": many}, nil)
	for _, turn := range begun {
		turn.Wait("end_turn")
	}
	if kept, err := filepath.Glob(filepath.Join(string(d.home), "sessions", "*", "attached-*")); err != nil || len(kept) != len(many) {
		t.Errorf("%d were kept of %d (%v)", len(kept), len(many), err)
	}
}
