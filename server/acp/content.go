package acp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"strings"

	"nimlet/server"
	"nimlet/session"
)

// parts converts the blocks of a prompt. Each kind that is advertised is used; any other is an
// error that names it.
func (c *connection) parts(live *server.Session, blocks []json.RawMessage) (server.Message, error) {
	if len(blocks) == 0 {
		return nil, invalid("prompt", "is empty")
	}
	m := make(server.Message, 0, len(blocks))
	for i, raw := range blocks {
		var b contentBlock
		if err := json.Unmarshal(raw, &b); err != nil {
			return nil, invalid(fmt.Sprintf("prompt[%d]", i), "is no content block: %v", err)
		}
		p, err := part(live, b)
		if err != nil {
			return nil, invalid(fmt.Sprintf("prompt[%d]", i), "%v", err)
		}
		m = append(m, p)
	}
	return m, nil
}

func part(live *server.Session, b contentBlock) (session.Part, error) {
	switch b.Type {
	case "text":
		if b.Text == nil {
			return nil, fmt.Errorf("a text block needs text")
		}
		return session.Text{Text: *b.Text}, nil
	case "image":
		return image(b.MIMEType, b.Data)
	case "resource_link":
		if b.URI == "" {
			return nil, fmt.Errorf("a resource_link block needs a uri")
		}
		return session.File{MIMEType: b.MIMEType, Path: pathOf(b.URI), Filename: b.Name}, nil
	case "resource":
		return embedded(live, b.Resource)
	case "":
		return nil, fmt.Errorf("a content block needs a type")
	default:
		return nil, fmt.Errorf("blocks of type %q are not supported", b.Type)
	}
}

func image(mime, data string) (session.Part, error) {
	if !strings.HasPrefix(mime, "image/") {
		return nil, fmt.Errorf("an image block needs a mimeType of image/…, not %q", mime)
	}
	if _, err := base64.StdEncoding.DecodeString(data); err != nil || data == "" {
		return nil, fmt.Errorf("an image block needs base64 data")
	}
	return session.Image{MIMEType: mime, Data: data}, nil
}

// embedded converts a resource: an image is an image wherever it stands, other binary data is kept
// in a file that tools can read, text stays text.
func embedded(live *server.Session, r *resource) (session.Part, error) {
	switch {
	case r == nil || r.URI == "":
		return nil, fmt.Errorf("a resource block needs a resource with a uri")
	case r.Text != nil:
		data := base64.StdEncoding.EncodeToString([]byte(*r.Text))
		mime := r.MIMEType
		if mime == "" {
			mime = "text/plain"
		}
		return session.File{MIMEType: mime, Path: pathOf(r.URI), Data: data, Filename: nameOf(r.URI)}, nil
	case r.Blob == nil:
		return nil, fmt.Errorf("a resource needs text or a blob")
	case strings.HasPrefix(r.MIMEType, "image/"):
		return image(r.MIMEType, *r.Blob)
	}
	data, err := base64.StdEncoding.DecodeString(*r.Blob)
	if err != nil {
		return nil, fmt.Errorf("the blob of %s is not base64", r.URI)
	}
	name, err := live.KeepAttachment(nameOf(r.URI), data)
	if err != nil {
		return nil, err
	}
	return session.File{MIMEType: r.MIMEType, Path: name, Filename: nameOf(r.URI)}, nil
}

// pathOf returns the path a file URI names; what is no file URI stays as it is. Percent signs are
// decoded, a drive letter loses the slash before it, a host becomes a UNC share.
func pathOf(uri string) string {
	if !strings.HasPrefix(strings.ToLower(uri), "file:") {
		return uri
	}
	u, err := url.Parse(uri)
	if err != nil { // a percent sign that stands for itself
		u, err = url.Parse(strings.ReplaceAll(uri, "%", "%25"))
	}
	if err != nil {
		return uri
	}
	return filePath(u.Host, u.Path)
}

// nameOf is the last element of what a URI names.
func nameOf(uri string) string { return path.Base(strings.ReplaceAll(pathOf(uri), "\\", "/")) }

// blocks converts the parts of a stored message for a replay.
func blocks(m server.Message) []contentBlock {
	var list []contentBlock
	for _, p := range m {
		switch p := p.(type) {
		case session.Text:
			list = append(list, textBlock(p.Text))
		case session.Image:
			list = append(list, imageBlock(p))
		case session.File:
			list = append(list, fileBlock(p))
		}
	}
	return list
}

func textBlock(text string) contentBlock { return contentBlock{Type: "text", Text: &text} }

func imageBlock(i session.Image) contentBlock {
	return contentBlock{Type: "image", Data: i.Data, MIMEType: i.MIMEType}
}

func fileBlock(f session.File) contentBlock {
	uri := uriOf(f.Path)
	if f.Data == "" {
		name := f.Filename
		if name == "" {
			name = path.Base(uri)
		}
		return contentBlock{Type: "resource_link", URI: uri, Name: name, MIMEType: f.MIMEType}
	}
	text, err := base64.StdEncoding.DecodeString(f.Data)
	if err != nil {
		return textBlock("[" + f.Filename + "]")
	}
	s := string(text)
	return contentBlock{Type: "resource", Resource: &resource{URI: uri, MIMEType: f.MIMEType, Text: &s}}
}

// uriOf is the way back of pathOf.
func uriOf(p string) string {
	slashed := slashed(p)
	if !strings.HasPrefix(slashed, "/") {
		return p
	}
	u := url.URL{Scheme: "file", Path: slashed}
	if rest, isShare := strings.CutPrefix(slashed, "//"); isShare {
		host, share, _ := strings.Cut(rest, "/")
		u.Host, u.Path = host, "/"+share
	}
	return u.String()
}
