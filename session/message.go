// Package session holds a conversation and the append-only file it lives in.
//
// It is the vocabulary of the whole program: a message, a call and a result are what every
// layer passes on. A conversation is a list of events (event.go); what a language model is sent
// is a list of messages made from them. Nothing here knows a model, a tool or an editor.
package session

import "encoding/json"

// A Role says who speaks in a Message.
type Role string

// The two roles of a conversation.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// A Message is one turn of the conversation as a language model sees it. Tool results stand in
// user messages, as ToolOutput parts, in the order of the calls they answer.
type Message struct {
	Role    Role
	Content []Part
}

// A Part is one piece of a message's content: Text, Thinking, ToolUse, ToolOutput, Image, File,
// Source or UnknownPart (seed 000, "Session entries", content arrays).
type Part interface{ part() }

// Text is prose.
type Text struct{ Text string }

// Thinking is a model's reasoning, with the signature its provider wants back.
type Thinking struct{ Thinking, Signature string }

// ToolUse is a call the model made.
type ToolUse struct {
	Call
	ParseError       string // why the arguments the model sent are no JSON object; "" when they are
	Hosted           bool   // the provider ran the tool itself
	ThoughtSignature string // opaque, given back to the provider
}

// ToolOutput is the result of a call, as a part of a user message.
type ToolOutput struct {
	ToolUseID string
	Content   string
	IsError   bool
	Images    []Image
}

// Image is a picture; one of Path and Data is set.
type Image struct {
	MIMEType string
	Path     string // absolute path of a file
	Data     string // base64
}

// File is an attachment or, with neither Data nor a readable Path, a link to one.
type File struct {
	MIMEType string
	Path     string // absolute path, or a URI that is no file
	Data     string // base64
	Filename string
}

// Source is something the model cites.
type Source struct {
	URL, Title, ID, CitedText string
	Raw                       json.RawMessage
}

// UnknownPart is a part of a kind this version does not know, kept as it was.
type UnknownPart struct{ Raw json.RawMessage }

func (Text) part()        {}
func (Thinking) part()    {}
func (ToolUse) part()     {}
func (ToolOutput) part()  {}
func (Image) part()       {}
func (File) part()        {}
func (Source) part()      {}
func (UnknownPart) part() {}

// A Call is a model's request to run a tool. Input is a JSON object, "{}" when the model sent none.
type Call struct {
	ID    string
	Name  string
	Input json.RawMessage
}

// A Result is what running a call gave. Output, IsError and Images go to the model; the other
// fields are for the person watching and are kept for replay alone.
type Result struct {
	Output    string
	IsError   bool
	Images    []Image
	Diffs     []Diff
	Locations []Location
	ExitCode  *int // of the command that ran, when one did and exited
}

// A Diff is one file before and after. Old is nil for a file that did not exist.
type Diff struct {
	Path string  `json:"path"` // absolute
	Old  *string `json:"old,omitempty"`
	New  string  `json:"new"`
}

// A Location is a place a call is about. Line is 1-based; 0 means the whole file.
type Location struct {
	Path string `json:"path"` // absolute
	Line int    `json:"line,omitempty"`
}
