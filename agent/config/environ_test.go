package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChildrenDoNotGetKeys(t *testing.T) {
	s := Settings{Providers: map[string]Provider{
		"workshop": {APIKey: "{env:WORKSHOP_KEY}", Headers: map[string]string{"Authorization": "Bearer {env:TEAM_TOKEN}"}},
		"literal":  {APIKey: "sk-123"},
	}}
	got := s.ChildEnviron([]string{
		"PATH=/bin", "ANTHROPIC_API_KEY=a", "OPENAI_API_KEY=b", "OPENAI_API_KEY_HINT=kept", "WORKSHOP_KEY=c", "TEAM_TOKEN=d", "EMPTY=", "=C:=C:\\",
	})
	want := []string{"PATH=/bin", "OPENAI_API_KEY_HINT=kept", "EMPTY=", "=C:=C:\\"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the environment of children differs (-want +got):\n%s", diff)
	}
	if got := s.ChildEnviron(nil); got == nil {
		t.Error("an empty environment became nil, which would stand for the whole environment of this process")
	}
}
