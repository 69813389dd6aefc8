package modeltest

import (
	"bytes"
	"embed"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"nimlet/agent/model"
)

// The rules are, for both dialects: the request has the schema of testdata; the person speaks first
// and last; each call is answered exactly once, in the very next turn and in order, and nothing else is
// answered; ids are unlike each other and of plain characters; no text is blank; a conversation
// that goes on begins with what was sent before. For Anthropic alone: turns alternate, results come
// before what the person says, thoughts bear a signature that was given out, no answer ends with
// one, one that led to the results at the end begins with one when a budget is set, and at most
// four places are marked for the cache. For OpenAI alone: a message after calls is a result.

//go:embed testdata/*.json
var schemas embed.FS

type schema struct{ *jsonschema.Schema }

func compile(t testing.TB, dialect model.Dialect) schema {
	t.Helper()
	name := "testdata/" + string(dialect) + ".json"
	text, err := schemas.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(name, bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return schema{compiled}
}

// A Piece is one thing in a conversation, the same in both dialects.
type Piece struct {
	Role string // user or assistant
	Kind string // text, image, thinking, call, result or result image
	Text string // also a call's arguments, an image's media type
	ID   string // of a call, or of the call that a result answers
	Name string // of a called tool

	signature string
	failed    bool
	message   int // that it stands in
}

func (s *Server) checkHTTP(r *http.Request) {
	path, key := "/v1/messages", r.Header.Get("X-Api-Key")
	if s.dialect == model.OpenAI {
		path, key = "/v1/chat/completions", strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	} else if r.Header.Get("Anthropic-Version") == "" {
		s.t.Error("the request has no Anthropic-Version")
	}
	if r.Method != http.MethodPost || r.URL.Path != path {
		s.t.Errorf("got %s %s, want POST %s", r.Method, r.URL.Path, path)
	}
	if key != Key {
		s.t.Errorf("the request carries the key %q, want %q", key, Key)
	}
	if got := r.Header.Get("Content-Type"); got != "application/json" {
		s.t.Errorf("Content-Type is %q", got)
	}
}

func (s *Server) checkBody(r *Request) {
	var loose any
	if err := json.Unmarshal(r.Raw, &loose); err != nil {
		s.t.Error(err)
	}
	if err := s.schema.Validate(loose); err != nil {
		s.t.Errorf("the request is not in the dialect: %#v", err)
	}
	messages, _ := r.Body["messages"].([]any)
	if s.dialect == model.OpenAI {
		r.Pieces = openaiPieces(messages)
	} else {
		r.Pieces = anthropicPieces(messages)
		s.checkAnthropic(r)
	}
	s.checkPairs(r.Pieces)
	s.checkPieces(r.Pieces)
	s.checkPrefix(r.Pieces)
}

var plainID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)

// checkPairs holds calls and results against each other.
func (s *Server) checkPairs(pieces []Piece) {
	var owed []string
	seen := map[string]bool{}
	for i, p := range pieces {
		switch p.Kind {
		case "call":
			if !plainID.MatchString(p.ID) || seen[p.ID] {
				s.t.Errorf("piece %d: the id %q is not plain, or not the first of its name", i, p.ID)
			}
			seen[p.ID] = true
			owed = append(owed, p.ID)
			if !json.Valid([]byte(p.Text)) || !strings.HasPrefix(strings.TrimSpace(p.Text), "{") {
				s.t.Errorf("piece %d: the arguments of %s are no object: %.100s", i, p.ID, p.Text)
			}
		case "result":
			if len(owed) == 0 || owed[0] != p.ID {
				s.t.Errorf("piece %d answers %q where the calls that wait are %v", i, p.ID, owed)
				return
			}
			owed = owed[1:]
		default:
			if len(owed) > 0 && p.Role == "user" && p.Kind != resultImage {
				s.t.Errorf("piece %d is %s while the calls %v have no result", i, p.Kind, owed)
				return
			}
		}
	}
	if len(owed) > 0 {
		s.t.Errorf("the calls %v have no result", owed)
	}
}

func (s *Server) checkPieces(pieces []Piece) {
	if len(pieces) == 0 || pieces[0].Role != "user" || pieces[len(pieces)-1].Role != "user" {
		s.t.Error("the person does not speak first and last")
	}
	for i, p := range pieces {
		if (p.Kind == "text" || p.Kind == "result") && strings.TrimSpace(p.Text) == "" {
			s.t.Errorf("piece %d is a blank %s", i, p.Kind)
		}
	}
}

// checkPrefix holds the request against the one before it in the same conversation. The last piece of
// that may have grown, as texts of one turn are joined.
func (s *Server) checkPrefix(pieces []Piece) {
	if len(pieces) == 0 {
		return
	}
	before := s.sent[pieces[0].Text]
	s.sent[pieces[0].Text] = pieces
	if len(before) > len(pieces) {
		s.t.Errorf("the conversation has shrunk from %d pieces to %d", len(before), len(pieces))
		return
	}
	for i, old := range before {
		grown := i == len(before)-1 && old.Kind == "text" && strings.HasPrefix(pieces[i].Text, old.Text)
		if old != pieces[i] && !grown {
			s.t.Errorf("piece %d was %.200v and is now %.200v", i, old, pieces[i])
			return
		}
	}
}

func (s *Server) checkAnthropic(r *Request) {
	if marks := bytes.Count(r.Raw, []byte(`"cache_control"`)); marks > 4 {
		s.t.Errorf("%d places are marked for the cache, four are allowed", marks)
	}
	said := map[int]bool{} // messages that hold anything but results
	for i, p := range r.Pieces {
		if i > 0 && p.message != r.Pieces[i-1].message && p.Role == r.Pieces[i-1].Role {
			s.t.Errorf("messages %d and %d are both of the %s", r.Pieces[i-1].message, p.message, p.Role)
		}
		last := i+1 == len(r.Pieces) || r.Pieces[i+1].message != p.message
		switch p.Kind {
		case "thinking":
			if !s.signatures[p.signature] {
				s.t.Errorf("piece %d is a thought with the signature %q, which is not of this server", i, p.signature)
			}
			if last {
				s.t.Errorf("message %d ends with a thought", p.message)
			}
		case resultImage: // a part of the result before it
		case "result":
			if said[p.message] {
				s.t.Errorf("message %d has a result behind something else", p.message)
			}
		default:
			said[p.message] = true
		}
	}
	s.checkBudget(r)
}

func (s *Server) checkBudget(r *Request) {
	thinking, _ := r.Body["thinking"].(map[string]any)
	budget, ok := thinking["budget_tokens"].(float64)
	if !ok {
		return
	}
	if limit, _ := r.Body["max_tokens"].(float64); budget < 1024 || budget >= limit {
		s.t.Errorf("the thinking budget %v is not between 1024 and max_tokens %v", budget, limit)
	}
	last := r.Pieces[len(r.Pieces)-1].message
	for i, p := range r.Pieces {
		if p.message == last-1 && (i == 0 || r.Pieces[i-1].message != p.message) && p.Kind != "thinking" && r.hasResults(last) {
			s.t.Error("a budget is set, and the answer that made the last calls does not begin with a thought")
		}
	}
}

func (r *Request) hasResults(message int) bool {
	for _, p := range r.Pieces {
		if p.message == message && p.Kind == "result" {
			return true
		}
	}
	return false
}
