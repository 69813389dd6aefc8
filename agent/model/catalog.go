package model

import (
	_ "embed"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"nimlet/session"
)

// Abilities are what a model can do, as far as a request depends on it.
type Abilities struct {
	MaxOutput int     `json:"max_output"` // tokens of one answer; 0 means unknown
	Images    bool    `json:"images"`     // takes pictures
	Tools     bool    `json:"tools"`      // takes tools
	Thinking  bool    `json:"thinking"`   // reasons, and can be told how much
	Levels    []Level `json:"levels"`     // that it knows; empty means that this is unknown

	// Adaptive says that an Anthropic model decides itself how long to think, and is told an
	// effort; others are told a budget of tokens.
	Adaptive bool `json:"adaptive"`
	// ToolEffort is the only reasoning effort an OpenAI model takes beside tools; "" means any.
	ToolEffort string `json:"tool_effort"`
}

// A Price is what a million tokens cost, in US dollars.
type Price struct {
	Input      float64 `json:"input"` // not cached
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cache_read"`
	CacheWrite float64 `json:"cache_write"`
}

// Cost returns what a request that used u cost, in US dollars.
func (p Price) Cost(u session.Usage) float64 {
	plain := u.Input - u.CacheRead - u.CacheWrite
	return (float64(plain)*p.Input + float64(u.Output)*p.Output + float64(u.CacheRead)*p.CacheRead + float64(u.CacheWrite)*p.CacheWrite) / 1e6
}

// Info is what is known of a model.
type Info struct {
	ID            string `json:"id"`
	Provider      string `json:"provider"`
	ContextWindow int    `json:"context_window"` // tokens
	Price         *Price `json:"price"`          // nil when unknown
	Abilities
}

// models.json holds the facts and nothing else, so that a model is added without touching code.
//
//go:embed models.json
var modelsJSON []byte

// Models returns the models that are known of a provider, the most capable first; nil for none.
func Models(provider string) []Info {
	return slices.DeleteFunc(catalog(), func(i Info) bool { return i.Provider != provider })
}

// Lookup returns what is known of the model id of a provider. A model of another provider's by that
// very name, as behind a proxy, has its abilities but not its price. When nothing is known, ok
// is false and info is what is safe to assume.
func Lookup(provider, id string) (info Info, ok bool) {
	all := catalog()
	name := undated(id)
	for _, match := range []func(Info) bool{
		func(i Info) bool { return i.Provider == provider && i.ID == id },
		func(i Info) bool { return i.Provider == provider && i.ID == name },
		func(i Info) bool { return i.ID == name },
		func(i Info) bool {
			return slices.Contains([]string{"anthropic", "openai", "google"}, i.Provider) && i.ID == path(name)
		},
	} {
		if at := slices.IndexFunc(all, match); at >= 0 {
			info = all[at]
			if info.Provider != provider {
				info.Price = nil
			}
			if info.ID != name { // a router calls it in its own way
				info.ToolEffort = ""
			}
			info.ID, info.Provider = id, provider
			return info, true
		}
	}
	return unknown(provider, id), false
}

// unknown assumes that a model can do what most can: one that cannot says so in its refusal,
// where leaving a picture or a tool out would go unnoticed.
func unknown(provider, id string) Info {
	info := Info{ID: id, Provider: provider, ContextWindow: 128_000,
		Abilities: Abilities{Images: true, Tools: true, Thinking: true}}
	if strings.HasPrefix(id, "claude-") { // newer than this table: like the newest in it
		info.ContextWindow, info.MaxOutput, info.Adaptive = 200_000, 32_000, true
		info.Levels = []Level{ThinkLow, ThinkMedium, ThinkHigh}
	}
	return info
}

func catalog() []Info {
	var all []Info
	if err := json.Unmarshal(modelsJSON, &all); err != nil {
		panic("model: models.json: " + err.Error())
	}
	return all
}

// undated returns id without the date of a snapshot or a router's variant (":free").
func undated(id string) string {
	id, _, _ = strings.Cut(id, ":")
	return regexp.MustCompile(`(-\d{8}|-\d{4}-\d\d-\d\d|-latest)$`).ReplaceAllString(id, "")
}

// path returns a router's "anthropic/claude-sonnet-4.5" as the maker's "claude-sonnet-4-5".
func path(name string) string {
	maker, model, found := strings.Cut(name, "/")
	if !found {
		return name
	}
	if maker == "anthropic" {
		return strings.ReplaceAll(model, ".", "-")
	}
	return model
}
