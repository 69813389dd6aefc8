package config

import (
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// providerKeys are the variables in which the built-in providers look for their keys.
var providerKeys = []string{
	"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENROUTER_API_KEY",
}

// envReference is compiled when it is first needed: most starts never do.
var envReference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{env:([^}]+)\}`) })

// ChildEnviron returns environ, as os.Environ has it, without the variables that hold the user's
// keys: what a tool runs is chosen by a model, and a key it never sees is one it cannot give away.
// They are those of the built-in providers and those that a provider's settings read with {env:NAME}.
// The result is never nil.
func (s Settings) ChildEnviron(environ []string) []string {
	secret := slices.Clone(providerKeys)
	for _, p := range s.Providers {
		values := []string{p.APIKey}
		for _, header := range p.Headers {
			values = append(values, header)
		}
		for _, value := range values {
			for _, m := range envReference().FindAllStringSubmatch(value, -1) {
				secret = append(secret, m[1])
			}
		}
	}
	kept := make([]string, 0, len(environ))
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if !slices.ContainsFunc(secret, func(s string) bool { return sameVariable(s, name) }) {
			kept = append(kept, entry)
		}
	}
	return kept
}

// sameVariable compares names as the system does.
func sameVariable(a, b string) bool {
	return a == b || runtime.GOOS == "windows" && strings.EqualFold(a, b)
}
