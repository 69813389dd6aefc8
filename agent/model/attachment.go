package model

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"nimlet/session"
)

const (
	maxPicture = 20 << 20 // bytes read of one; providers take less
	maxUnknown = 2000     // bytes shown of a part of an unknown kind
)

// shown returns part as Text or Image, nil when it says nothing. What a model cannot be shown it is
// told of: an attachment that vanished would be answered as if it had never been there.
func (a Abilities) shown(part session.Part) session.Part {
	switch p := part.(type) {
	case session.Text:
		if strings.TrimSpace(p.Text) == "" {
			return nil
		}
		return p
	case session.Image:
		return a.picture(p)
	case session.File:
		return a.file(p)
	case session.Source:
		return session.Text{Text: strings.TrimSpace("Source: " + p.Title + " " + p.URL + "\n" + p.CitedText)}
	case session.UnknownPart:
		raw := p.Raw[:min(len(p.Raw), maxUnknown)]
		return session.Text{Text: "[Content of an unknown kind: " + strings.ToValidUTF8(string(raw), "") + "]"}
	default:
		return nil
	}
}

// pictures returns the images that can be shown, and notes about the others.
func (a Abilities) pictures(images []session.Image) (shown []session.Image, notes []string) {
	for _, image := range images {
		switch p := a.picture(image).(type) {
		case session.Image:
			shown = append(shown, p)
		case session.Text:
			notes = append(notes, p.Text)
		}
	}
	return shown, notes
}

// picture returns image with its data and true type, or a Text that says why it is not shown.
func (a Abilities) picture(image session.Image) session.Part {
	name := "A picture"
	if image.Path != "" {
		name += " (" + image.Path + ")"
	}
	if !a.Images {
		return session.Text{Text: "[" + name + " stands here; this model takes no pictures.]"}
	}
	if image.Data == "" {
		data, err := readPicture(image.Path)
		if err != nil {
			return session.Text{Text: "[" + name + " stands here; it could not be read: " + err.Error() + "]"}
		}
		image.Data = base64.StdEncoding.EncodeToString(data)
	}
	head, err := base64.StdEncoding.DecodeString(image.Data[:min(len(image.Data), 684)]) // as much as the detection looks at
	if err != nil {
		return session.Text{Text: "[" + name + " stands here; its data is not base64.]"}
	}
	// A label that is wrong has the whole request refused, so the data decides.
	kind := http.DetectContentType(head)
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind) {
		return session.Text{Text: fmt.Sprintf("[%s of type %s stands here; models take only PNG, JPEG, GIF and WebP.]", name, image.MIMEType)}
	}
	return session.Image{MIMEType: kind, Data: image.Data}
}

func readPicture(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxPicture {
		return nil, fmt.Errorf("it is not a file of at most %d MB", maxPicture>>20)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxPicture))
}

// file returns an attachment as text: its content, or where it is.
func (a Abilities) file(f session.File) session.Part {
	name := f.Path
	if name == "" {
		name = f.Filename
	}
	if name == "" {
		name = "unnamed"
	}
	if f.Data == "" {
		return session.Text{Text: "[Attached: " + name + "]"}
	}
	if strings.HasPrefix(f.MIMEType, "image/") && f.MIMEType != "image/svg+xml" {
		return a.picture(session.Image{MIMEType: f.MIMEType, Data: f.Data})
	}
	data, err := base64.StdEncoding.DecodeString(f.Data)
	if err != nil {
		return session.Text{Text: "[Attached: " + name + ", whose data is not base64]"}
	}
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return session.Text{Text: fmt.Sprintf("[Attached: %s (%s, %d bytes), which is no text and cannot be shown to you]", name, f.MIMEType, len(data))}
	}
	return session.Text{Text: fmt.Sprintf("<attachment name=%q>\n%s\n</attachment>", name, data)}
}
