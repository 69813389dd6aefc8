package model_test

import (
	"testing"

	"nimlet/agent/model"
	"nimlet/session"
)

func TestLookup(t *testing.T) {
	for _, test := range []struct {
		provider, id   string
		known, priced  bool
		window, output int
	}{
		{"anthropic", "claude-sonnet-4-5", true, true, 200_000, 64_000},
		{"anthropic", "claude-sonnet-4-5-20250929", true, true, 200_000, 64_000},
		{"openai", "gpt-5-2025-08-07", true, true, 400_000, 128_000},
		{"google", "gemini-2.5-flash", true, true, 1_048_576, 65_536},
		{"openrouter", "anthropic/claude-sonnet-4.5", true, false, 200_000, 64_000},
		{"openrouter", "z-ai/glm-4.6:free", true, false, 202_752, 0},
		{"my-proxy", "gpt-5", true, false, 400_000, 128_000},
		{"ollama", "qwen3:8b", false, false, 128_000, 0},
		{"anthropic", "claude-next-9", false, false, 200_000, 32_000},
	} {
		got, known := model.Lookup(test.provider, test.id)
		if known != test.known || (got.Price != nil) != test.priced || got.ContextWindow != test.window || got.MaxOutput != test.output ||
			got.ID != test.id || got.Provider != test.provider {
			t.Errorf("Lookup(%s, %s) = %+v, %v", test.provider, test.id, got, known)
		}
		if !got.Tools {
			t.Errorf("%s cannot use tools", test.id)
		}
	}
}

func TestTheTableIsSound(t *testing.T) {
	for _, p := range model.Providers() {
		models := model.Models(p.Name)
		if p.Local != (p.KeyVars == nil) || p.Local != (p.DefaultModel == "") {
			t.Errorf("%+v", p)
		}
		if p.DefaultModel != "" {
			if _, known := model.Lookup(p.Name, p.DefaultModel); !known {
				t.Errorf("the default model %s of %s is not in the table", p.DefaultModel, p.Name)
			}
		}
		for _, m := range models {
			if m.ContextWindow < 100_000 || m.MaxOutput > m.ContextWindow || len(m.Levels) > 0 && !m.Thinking ||
				m.Price != nil && (m.Price.Input <= 0 || m.Price.Output < m.Price.Input || m.Price.CacheRead >= m.Price.Input) {
				t.Errorf("%+v", m)
			}
		}
	}
}

func TestCost(t *testing.T) {
	price := model.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}
	usage := session.Usage{Input: 1_000_000, Output: 100_000, CacheRead: 600_000, CacheWrite: 200_000}
	if got, want := price.Cost(usage), 0.6+1.5+0.18+0.75; got < want-1e-9 || got > want+1e-9 {
		t.Errorf("it cost %v, want %v", got, want)
	}
}
