package model

// A Provider is one that is known by name.
type Provider struct {
	Name         string
	Dialect      Dialect
	BaseURL      string
	KeyVars      []string // environment variables that may hold the key, the first found wins; nil for none
	Local        bool     // runs on this machine, needs no key and is found by Probe
	DefaultModel string   // "" for a local one: the first it lists
}

// Providers returns the built-in providers, in the order in which one is chosen when the user
// chose none.
func Providers() []Provider {
	return []Provider{
		{Name: "anthropic", Dialect: Anthropic, BaseURL: "https://api.anthropic.com", KeyVars: []string{"ANTHROPIC_API_KEY"}, DefaultModel: "claude-sonnet-5-5"},
		{Name: "openai", Dialect: OpenAI, BaseURL: "https://api.openai.com/v1", KeyVars: []string{"OPENAI_API_KEY"}, DefaultModel: "gpt-5.6-terra"},
		{Name: "google", Dialect: OpenAI, BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai", KeyVars: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, DefaultModel: "gemini-3.5-flash"},
		{Name: "openrouter", Dialect: OpenAI, BaseURL: "https://openrouter.ai/api/v1", KeyVars: []string{"OPENROUTER_API_KEY"}, DefaultModel: "anthropic/claude-sonnet-5"},
		{Name: "ollama", Dialect: OpenAI, BaseURL: "http://127.0.0.1:11434/v1", Local: true},
		{Name: "lmstudio", Dialect: OpenAI, BaseURL: "http://127.0.0.1:1234/v1", Local: true},
		{Name: "llamacpp", Dialect: OpenAI, BaseURL: "http://127.0.0.1:8080/v1", Local: true},
	}
}
