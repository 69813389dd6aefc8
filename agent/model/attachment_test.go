package model_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nimlet/agent/model"
	"nimlet/internal/modeltest"
	"nimlet/session"
)

func TestWhatThePersonAttachedIsSent(t *testing.T) {
	dialects(t, func(t *testing.T, d model.Dialect) {
		data := picture(t)
		path := filepath.Join(t.TempDir(), "a.png")
		raw, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		s, m := start(t, d)
		s.Reply(modeltest.Text("seen"))
		r := model.Request{Messages: []session.Message{user(
			session.Image{MIMEType: "image/jpeg", Data: data}, // the label is wrong
			session.Image{MIMEType: "image/png", Path: path},
			session.Image{MIMEType: "image/png", Path: path + ".gone"},
			session.Image{MIMEType: "image/bmp", Data: base("BM no such thing")},
			session.File{MIMEType: "image/png", Data: data, Filename: "b.png"},
			session.File{MIMEType: "text/plain", Data: base("text of a file"), Path: "/w/notes.txt"},
			session.File{MIMEType: "application/pdf", Data: base("%PDF\x00"), Filename: "c.pdf"},
			session.File{Path: "/w/linked.go"},
			session.UnknownPart{Raw: json.RawMessage(`{"type":"hologram"}`)},
			text("  "), text("and a bad \xff byte"),
		)}}
		if got := ask(t, m, r); got.err != nil {
			t.Fatal(got.err)
		}
		images, words := 0, ""
		for _, p := range s.Requests()[0].Pieces {
			if p.Kind == "image" {
				images++
				if p.Text != "image/png" {
					t.Errorf("a picture is sent as %s", p.Text)
				}
			} else {
				words += p.Text + "\n"
			}
		}
		if images != 3 {
			t.Errorf("%d pictures were sent, want 3", images)
		}
		for _, want := range []string{".gone", "image/bmp", "/w/notes.txt", "text of a file", "c.pdf", "/w/linked.go", "hologram", "and a bad \uFFFD byte"} {
			if !strings.Contains(words, want) {
				t.Errorf("no word of %q in %q", want, words)
			}
		}
	})
}

func TestAModelWithoutEyesIsToldOfPictures(t *testing.T) {
	s := modeltest.New(t, model.OpenAI)
	s.Reply(modeltest.Text("ok"))
	m := model.New(s.Endpoint(), "blind", model.Abilities{Tools: true})
	if got := ask(t, m, model.Request{Messages: []session.Message{user(session.Image{MIMEType: "image/png", Data: picture(t)})}}); got.err != nil {
		t.Fatal(got.err)
	}
	if p := s.Requests()[0].Pieces; len(p) != 1 || !strings.Contains(p[0].Text, "takes no pictures") {
		t.Errorf("sent %v", p)
	}
}

func TestPicturesInResultsAreSent(t *testing.T) {
	dialects(t, func(t *testing.T, d model.Dialect) {
		s, m := start(t, d)
		s.Reply(modeltest.Call("read", "{}"), modeltest.Call("read", "{}"))
		s.Reply(modeltest.Text("seen"))
		s.Reply(modeltest.Text("again"))
		r := hello()
		got := ask(t, m, r)
		shot := []session.Image{{MIMEType: "image/png", Data: picture(t)}}
		r.Messages = append(r.Messages, said(got.parts...), user(
			session.ToolOutput{ToolUseID: got.calls[0].ID, Content: "a picture", Images: shot},
			session.ToolOutput{ToolUseID: got.calls[1].ID, Content: "", Images: shot}))
		got = ask(t, m, r)
		if got.err != nil {
			t.Fatal(got.err)
		}
		r.Messages = append(r.Messages, said(got.parts...), user(text("and now?")))
		if got = ask(t, m, r); got.err != nil {
			t.Fatal(got.err)
		}
		images := 0
		for _, kind := range kinds(s.Requests()[1]) {
			if strings.HasSuffix(kind, "image") {
				images++
			}
		}
		if images != 2 {
			t.Errorf("%d pictures in %v", images, kinds(s.Requests()[1]))
		}
	})
}
