package session

import "encoding/json"

// An Event is one line of a session file: User, Assistant, ToolResult, Compaction, Extension,
// Name, Selection or Unknown (seed 000, "Session entries"). Its id is its line number.
type Event interface{ event() }

// User is a message of the person, or of an extension speaking for them.
type User struct{ Content []Part }

// Assistant is an answer of a model.
type Assistant struct {
	Content        []Part
	Model          string // that answered
	Provider       string
	RequestedModel string // when it is another
	Usage          *Usage // nil when the provider told none
}

// Usage counts tokens of one model request. Input counts all that was sent, cached or not.
type Usage struct {
	Input      int `json:"input"`
	Output     int `json:"output"`
	CacheRead  int `json:"cache_read,omitempty"`
	CacheWrite int `json:"cache_write,omitempty"`
	Thinking   int `json:"thinking,omitempty"`

	// Cost is what the request cost, Spent what the session had cost with it, in US dollars; 0 where
	// no price is known.
	Cost  float64 `json:"cost,omitempty"`
	Spent float64 `json:"spent,omitempty"`
}

// ToolResult answers the ToolUse of the same id.
type ToolResult struct {
	ID      string
	Output  string
	IsError bool
	Images  []Image
}

// Compaction replaces what lies before FirstKeptIndex by Summary, in requests only.
type Compaction struct {
	Summary        string
	FirstKeptIndex int // 0-based position among the events of the first that stays verbatim
	TokensBefore   int
	Details        json.RawMessage
}

// Extension is a record of an extension, never sent to a model. The name Reserved is our own.
type Extension struct {
	Extension string
	Data      json.RawMessage
}

// Name is the title a person or the first message gave the session.
type Name struct{ Name string }

// Selection is a choice of provider and model.
type Selection struct{ Provider, Model string }

// Unknown is an event of a kind this version does not know, kept as it was.
type Unknown struct{ Raw json.RawMessage }

func (User) event()       {}
func (Assistant) event()  {}
func (ToolResult) event() {}
func (Compaction) event() {}
func (Extension) event()  {}
func (Name) event()       {}
func (Selection) event()  {}
func (Unknown) event()    {}

// Reserved is the extension name under which nimlet keeps its own records, as Marks.
const Reserved = "nimlet"

// A Mark is what nimlet itself notes in a session, written as an Extension event under Reserved.
// The fields that are set say what it notes.
type Mark struct {
	Mode        string    `json:"mode,omitempty"`        // "act" or "plan", from here on
	Interrupted string    `json:"interrupted,omitempty"` // why the answer to what came before it is not whole
	Display     *Display  `json:"display,omitempty"`     // how a call was shown
	Command     *Exchange `json:"command,omitempty"`     // a slash command and its answer
}

// A Display keeps what an editor was shown of a call and cannot be derived from the call itself.
type Display struct {
	Call      string          `json:"call"`            // id of the call
	Input     json.RawMessage `json:"input,omitempty"` // final arguments, when a hook changed them
	Diffs     []Diff          `json:"diffs,omitempty"`
	Locations []Location      `json:"locations,omitempty"`
	ExitCode  *int            `json:"exit_code,omitempty"`
}

// An Exchange is a slash command as typed and the text it answered; no model sees either.
type Exchange struct {
	Text  string `json:"text"`
	Reply string `json:"reply"`
}

// Event returns m as the event that is stored.
func (m Mark) Event() Extension {
	data, err := json.Marshal(m)
	if err != nil {
		panic("session: a Mark holds only what encodes: " + err.Error())
	}
	return Extension{Extension: Reserved, Data: data}
}

// MarkOf returns the Mark that e holds; ok is false for any other event.
func MarkOf(e Event) (m Mark, ok bool) {
	x, isExtension := e.(Extension)
	if !isExtension || x.Extension != Reserved {
		return Mark{}, false
	}
	return m, json.Unmarshal(x.Data, &m) == nil
}
