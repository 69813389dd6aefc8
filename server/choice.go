package server

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"nimlet/agent"
	"nimlet/agent/model"
	"nimlet/session"
)

// Choice returns which model answers, as far as that is known before it is asked.
func (s *Session) Choice() Choice {
	c := s.source.chosen()
	if provider, id := s.source.identity(); provider != "" {
		c.Provider, c.Model = provider, id
	}
	return c
}

// Choose changes which model answers from the next request on. It is kept in the session. A
// provider that does not exist is an error; whether the model does shows when it is asked.
func (s *Session) Choose(c Choice) error {
	if c.Provider != "" && c.Provider != offlineName {
		if _, err := s.source.provider(c.Provider); err != nil {
			return err
		}
	}
	if c.Thinking != "" && !slices.Contains(model.Levels(), c.Thinking) {
		return fmt.Errorf("there is no level %q; there are: %s", c.Thinking, levelNames())
	}
	s.source.choose(c)
	if now := s.source.chosen(); now.Provider != "" && (c.Provider != "" || c.Model != "") {
		if err := s.Store().Append(session.Selection{Provider: now.Provider, Model: now.Model}); err != nil {
			return err
		}
	}
	s.theAgent().Show(agent.OptionsChanged{})
	return nil
}

// Automatic is what ChooseModel takes for no choice: the settings' default provider answers, else the
// first that has a key.
const Automatic = "automatic"

// ChooseModel chooses by PROVIDER/ID, as Models offers them, or Automatic.
func (s *Session) ChooseModel(text string) error {
	provider, id, found := strings.Cut(text, "/")
	switch {
	case text == Automatic:
		s.source.forget()
		if err := s.Store().Append(session.Selection{}); err != nil {
			return err
		}
		s.theAgent().Show(agent.OptionsChanged{})
		return nil
	case !found || id == "":
		return fmt.Errorf("%q is neither PROVIDER/MODEL nor %q", text, Automatic)
	}
	return s.Choose(Choice{Provider: provider, Model: id})
}

// Models returns what can be chosen, by provider: of those that have a key, the models that are
// known, those that the settings name, and whatever is chosen now.
func (s *Session) Models() []Offer {
	var offers []Offer
	now := s.Choice()
	for _, name := range s.source.providerNames() {
		models := s.source.known(name)
		if name == now.Provider && now.Model != "" && !slices.Contains(models, now.Model) {
			models = append([]string{now.Model}, models...)
		}
		if len(models) > 0 {
			offers = append(offers, Offer{name, models})
		}
	}
	return offers
}

// known returns the models of a provider that can be offered without asking it.
func (s *source) known(provider string) (models []string) {
	if provider == offlineName {
		return []string{offlineName}
	}
	if s.hasKey(provider) {
		for _, info := range model.Models(provider) {
			models = append(models, info.ID)
		}
	}
	for _, m := range s.settings().Models {
		if m.Provider == provider && !slices.Contains(models, m.ID) {
			models = append(models, m.ID)
		}
	}
	return models
}

// An Offer is the models of one provider that can be chosen.
type Offer struct {
	Provider string
	Models   []string
}

func (s *source) hasKey(provider string) bool {
	p, err := s.provider(provider)
	if err != nil {
		return false
	}
	key, err := s.settings().FindKey(s.home, p.Name, p.KeyVars, s.getenv)
	return err == nil && key.Value != ""
}

func levelNames() string {
	var names []string
	for _, l := range model.Levels() {
		names = append(names, string(l))
	}
	return strings.Join(names, ", ")
}

func (s *Session) providerCommand(_ context.Context, name string) (string, error) {
	if name == "" {
		return fmt.Sprintf("%s\n\nProviders: %s. /provider NAME chooses one.", s.answering(), strings.Join(s.source.providerNames(), ", ")), nil
	}
	if err := s.Choose(Choice{Provider: strings.ToLower(name)}); err != nil {
		return "", err
	}
	return s.answering(), nil
}

// modelCommand takes a model's id, or a provider's name, a slash and an id.
func (s *Session) modelCommand(ctx context.Context, id string) (string, error) {
	if id == "" {
		var b strings.Builder
		b.WriteString(s.answering() + "\n")
		for _, o := range s.Models() {
			fmt.Fprintf(&b, "\n- %s: %s", o.Provider, strings.Join(o.Models, ", "))
		}
		b.WriteString("\n\n/model ID chooses one of this provider, /model PROVIDER/ID one of another. Any id works that the provider knows.")
		return b.String(), nil
	}
	c := s.parseModel(id)
	if c.Provider == "" {
		c.Provider = s.source.find(ctx, Choice{}).Provider
	}
	if c.Provider == offlineName && c.Model != offlineName {
		return "", fmt.Errorf("no provider has a key, and no local server answers; name the provider too: /model PROVIDER/%s", id)
	}
	if err := s.Choose(c); err != nil {
		return "", err
	}
	return s.answering(), nil
}

// parseModel reads PROVIDER/ID or ID, as a person types it. A router's own ids have slashes too: what stands before the
// first is a provider only if there is one of that name.
func (s *Session) parseModel(text string) Choice {
	provider, id, found := strings.Cut(text, "/")
	if found && slices.Contains(s.source.providerNames(), provider) && s.Choice().Provider != "openrouter" {
		return Choice{Provider: provider, Model: id}
	}
	return Choice{Provider: s.Choice().Provider, Model: text}
}

func (s *Session) thinkingCommand(_ context.Context, level string) (string, error) {
	if level == "" {
		return fmt.Sprintf("Thinking: %s. Levels: %s.", s.Choice().Thinking, levelNames()), nil
	}
	if err := s.Choose(Choice{Thinking: model.Level(strings.ToLower(level))}); err != nil {
		return "", err
	}
	return "Thinking: " + string(s.Choice().Thinking) + ".", nil
}

// answering says who answers now.
func (s *Session) answering() string {
	c := s.Choice()
	switch {
	case c.Provider == "":
		return "No model was chosen: the first provider that has a key answers, else a local server, else nobody (offline)."
	case c.Provider == offlineName:
		return "Nobody answers: nimlet is offline and runs lines that start with a tool's name."
	case c.Model == "":
		return "Answers come from " + c.Provider + ", with its default model."
	}
	return "Answers come from " + c.Model + " of " + c.Provider + "."
}
