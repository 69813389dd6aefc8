package config

import "time"

// Settings are the user's settings, every one with its default filled in (docs/configuration.md
// has a line for each). The json tags are the keys of config.json; the rule tags say what Load
// checks, separated by commas:
//
//	min=N    a number is at least N
//	one=a|b  a text is one of these
//	path     "~/" is the home folder, and a relative path starts at the file's own folder
//	adds     a list is put after the list of the file before, instead of in its place
//	whole    an entry of this name replaces the one of the file before, instead of being merged
//	user     ignored in a project's file, trusted or not
//
// "user" stands where a project could otherwise choose where sessions or keys live, send keys to a
// server or program of its own, or switch off an extension the user relies on. "whole" keeps a
// project from putting its own command under an MCP server that carries the user's tokens.
type Settings struct {
	DefaultProvider string              `json:"default_provider"` // "" means none was chosen
	DefaultModel    string              `json:"default_model"`    // "" means the provider's own
	Providers       map[string]Provider `json:"providers"`
	Models          []Model             `json:"models" rule:"adds"`
	Agent           Agent               `json:"agent"`
	Tools           Tools               `json:"tools"`
	Extensions      Extensions          `json:"extensions"`
	MCP             MCP                 `json:"mcp"`
	ACP             ACP                 `json:"acp"`
}

// A Provider is a source of models, by name: a built-in one, or any that speaks OpenAI's dialect.
type Provider struct {
	APIKey    string            `json:"api_key" rule:"user"`  // as written: {env:NAME}, {file:path} or the key
	BaseURL   string            `json:"base_url" rule:"user"` // "" means the built-in one's own
	LastModel string            `json:"last_model"`
	Options   map[string]any    `json:"options"` // put into each request as they are
	Headers   map[string]string `json:"headers" rule:"user"`
}

// A Model is one that is not built in, or corrects one that is.
type Model struct {
	ID            string `json:"id"`
	Provider      string `json:"provider"`
	ContextWindow int    `json:"context_window" rule:"min=1"` // tokens; 0 means not known
	Price         Price  `json:"price"`
}

// A Price is in US dollars a million tokens; 0 is free or not known.
type Price struct {
	Input      float64 `json:"input" rule:"min=0"`
	Output     float64 `json:"output" rule:"min=0"`
	CacheRead  float64 `json:"cache_read" rule:"min=0"`
	CacheWrite float64 `json:"cache_write" rule:"min=0"`
}

// Agent settings shape the turn.
type Agent struct {
	MaxTokens         int           `json:"max_tokens" rule:"min=0"`      // of one answer; 0 means the provider's own limit
	MaxSteps          int           `json:"max_steps" rule:"min=1"`       // model requests in one turn
	RequestTimeout    time.Duration `json:"request_timeout" rule:"min=1"` // how long a provider may be silent; in the file, seconds
	Thinking          string        `json:"thinking" rule:"one=off|minimal|low|medium|high|xhigh"`
	Title             string        `json:"title" rule:"one=words|model"` // who names a session: its first words, or a model
	CompactionEnabled bool          `json:"compaction_enabled"`
	ReserveTokens     int           `json:"reserve_tokens" rule:"min=0"`     // kept free in the context window
	KeepRecentTokens  int           `json:"keep_recent_tokens" rule:"min=0"` // kept verbatim by a compaction
	ContextWindow     int           `json:"context_window" rule:"min=0"`     // tokens; 0 means what is known of the model
	SessionDir        string        `json:"session_dir" rule:"path,user"`    // absolute
	SteeringMode      string        `json:"steering_mode" rule:"one=one-at-a-time|all"`
	FollowUpMode      string        `json:"follow_up_mode" rule:"one=one-at-a-time|all"`
}

// Tools settings, by tool.
type Tools struct {
	Bash Bash `json:"bash"`
}

// Bash settings hold for tool.json tools too (seed 003, "Process protocol").
type Bash struct {
	MaxOutputBytes int `json:"max_output_bytes" rule:"min=1"` // of a result; the rest is in a file
}

// Extensions settings say which extensions start and what they get.
type Extensions struct {
	Disabled      []string       `json:"disabled" rule:"user"` // names
	Paths         []string       `json:"paths" rule:"path,adds"`
	JSRuntime     string         `json:"js_runtime" rule:"user"` // a name on PATH or a path; "" means the one that is found
	CompatRoots   bool           `json:"compat_roots"`           // search other agents' folders too
	ExposeAPIKeys string         `json:"expose_api_keys" rule:"one=ask|never|always,user"`
	Isolated      []string       `json:"isolated"` // names of those that get a JS host of their own
	Flags         map[string]any `json:"flags"`
}

// MCP settings name servers whose tools are offered.
type MCP struct {
	Servers map[string]MCPServer `json:"servers" rule:"whole"`
}

// An MCPServer is a program to start, or a URL to reach.
type MCPServer struct {
	Type    string            `json:"type" rule:"one=stdio|http"` // "" means stdio with a command, http with a url
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
}

// ACP settings are about editors that speak ACP.
type ACP struct {
	MaxUpdateBytes   int    `json:"max_update_bytes" rule:"min=4096"`            // of one message to the editor; 0 means what suits the editor
	FS               string `json:"fs" rule:"one=auto|client"`                   // who writes files: we but for unsaved buffers, or always the editor
	StatusFallback   string `json:"status_fallback" rule:"one=card|message|off"` // what shows an extension's status (ACP has none)
	QuestionFallback string `json:"question_fallback" rule:"one=permission|cancel"`
}

func defaults(h Home) Settings {
	return Settings{
		Agent: Agent{
			MaxSteps:          200,
			RequestTimeout:    10 * time.Minute,
			Thinking:          "off",
			Title:             "words",
			CompactionEnabled: true,
			ReserveTokens:     16384,
			KeepRecentTokens:  20000,
			SessionDir:        h.SessionsDir(),
			SteeringMode:      "one-at-a-time",
			FollowUpMode:      "one-at-a-time",
		},
		Tools:      Tools{Bash: Bash{MaxOutputBytes: 100000}},
		Extensions: Extensions{ExposeAPIKeys: "ask"},
		ACP:        ACP{FS: "auto", StatusFallback: "card", QuestionFallback: "permission"},
	}
}
