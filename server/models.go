package server

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"nimlet/agent/config"
	"nimlet/agent/model"
	"nimlet/session"
)

// probePatience is how long local servers are looked for, once, before the first answer.
const probePatience = 100 * time.Millisecond

const offlineName = "offline"

// A Choice is which model is asked, and how much it is to think first. What is "" was not chosen.
type Choice struct {
	Provider string
	Model    string // may be "" for the provider's own default
	Thinking model.Level
}

// A source is the model of one session: whatever was chosen last, made when it is first asked. It
// may be changed while a turn runs; the next request of the turn goes to the new one.
type source struct {
	home     config.Home
	getenv   func(string) string
	settings func() config.Settings
	warn     func(format string, args ...any)

	mu     sync.Mutex
	choice Choice
	ready  *answering // what choice came to; nil until it is needed
}

// An answering is a model with its name.
type answering struct {
	model.Model
	provider string
	info     model.Info
}

// Stream implements model.Model.
func (s *source) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		a, err := s.resolve(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		r.Thinking = s.chosen().Thinking
		a.Stream(ctx, r)(yield)
	}
}

func newSource(s *Session) *source {
	return &source{home: s.server.opts.Home, getenv: s.server.getenv, warn: s.warn, settings: func() config.Settings {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.settings
	}}
}

// firstChoice is what a session starts with: what the process was told, else what was chosen in the
// conversation, else what the settings say.
func (s *Server) firstChoice(settings config.Settings, store *session.Store) Choice {
	c := Choice{Provider: settings.DefaultProvider, Thinking: model.Level(settings.Agent.Thinking)}
	if last, ok := store.Selection(); ok {
		c.Provider, c.Model = last.Provider, last.Model
	}
	if asked := s.opts.Choice; asked.Provider != "" && asked.Provider != c.Provider {
		c.Provider, c.Model = asked.Provider, ""
	}
	if s.opts.Choice.Model != "" {
		c.Model = s.opts.Choice.Model
	}
	if s.opts.Choice.Thinking != "" {
		c.Thinking = s.opts.Choice.Thinking
	}
	return c
}

// choose changes what is asked from the next request on. Fields that are "" stay as they are, but
// for the model of another provider.
func (s *source) choose(c Choice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Provider != "" && c.Provider != s.choice.Provider {
		s.choice.Provider, s.choice.Model = c.Provider, ""
	}
	if c.Model != "" {
		s.choice.Model = c.Model
	}
	if c.Thinking != "" {
		s.choice.Thinking = c.Thinking
	}
	s.ready = nil
}

// renew has the choice looked up again, as the settings may have changed.
func (s *source) renew() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = nil
}

// forget goes back to what the settings say, but for the thinking.
func (s *source) forget() {
	standard := s.settings().DefaultProvider
	s.mu.Lock()
	defer s.mu.Unlock()
	s.choice.Provider, s.choice.Model, s.ready = standard, "", nil
}

func (s *source) chosen() Choice {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.choice
}

// identity returns the provider and model that answer now, as far as that is known without asking.
func (s *source) identity() (provider, id string) {
	s.mu.Lock()
	ready, c := s.ready, s.choice
	s.mu.Unlock()
	if ready != nil {
		return ready.provider, ready.info.ID
	}
	if c.Provider == offlineName {
		return offlineName, offlineName
	}
	if p, err := s.provider(c.Provider); err == nil {
		return c.Provider, s.knownID(p, c)
	}
	return c.Provider, c.Model
}

// window returns the context window of the model that answers, in tokens.
func (s *source) window() int {
	if n := s.settings().Agent.ContextWindow; n > 0 {
		return n
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ready != nil && s.ready.info.ContextWindow > 0 {
		return s.ready.info.ContextWindow
	}
	return defaultContextWindow
}

// cost returns what a request to the model that answers cost; 0 when its price is not known.
func (s *source) cost(u session.Usage) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ready == nil || s.ready.info.Price == nil {
		return 0
	}
	return s.ready.info.Price.Cost(u)
}

// resolve returns the model that answers. A provider that was chosen and cannot be asked is an
// error that says what to do; when none was chosen, the first that has a key is, then a local
// server that answers, then nobody: offline.
func (s *source) resolve(ctx context.Context) (*answering, error) {
	s.mu.Lock()
	ready, c := s.ready, s.choice
	s.mu.Unlock()
	if ready != nil {
		return ready, nil
	}
	var err error
	if c.Provider == "" {
		c = s.find(ctx, c)
	}
	if ready, err = s.open(ctx, c); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = ready
	return ready, nil
}

// find chooses for a user who chose nothing. A place for keys that cannot be used is said, and passed
// over: without a choice, nothing that was asked for is missing.
func (s *source) find(ctx context.Context, c Choice) Choice {
	told := ""
	for _, p := range model.Providers() {
		if p.Local {
			continue
		}
		key, err := s.settings().FindKey(s.home, p.Name, p.KeyVars, s.getenv)
		if err != nil && err.Error() != told { // auth.json is one for all
			told = err.Error()
			s.warn("%s", told)
		}
		if key.Value != "" {
			c.Provider = p.Name
			return c
		}
	}
	c.Provider = offlineName
	if local := s.localServers(ctx); len(local) > 0 {
		c.Provider = local[0].Name
	}
	return c
}

// localServers returns the local providers that answer, in their order.
func (s *source) localServers(ctx context.Context) []model.Provider {
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	all := slices.DeleteFunc(model.Providers(), func(p model.Provider) bool { return !p.Local })
	answers := make([]bool, len(all))
	var wg sync.WaitGroup
	for i, p := range all {
		wg.Go(func() {
			models, err := model.Probe(ctx, s.endpointOf(p).BaseURL)
			answers[i] = err == nil && len(models) > 0
		})
	}
	wg.Wait()
	var found []model.Provider
	for i, p := range all {
		if answers[i] {
			found = append(found, p)
		}
	}
	return found
}

// open makes the model of a choice that names a provider.
func (s *source) open(ctx context.Context, c Choice) (*answering, error) {
	if c.Provider == offlineName {
		return &answering{model.Offline(), offlineName, model.Info{ID: offlineName, ContextWindow: defaultContextWindow}}, nil
	}
	p, err := s.provider(c.Provider)
	if err != nil {
		return nil, err
	}
	e := s.endpointOf(p)
	key, err := s.settings().FindKey(s.home, p.Name, p.KeyVars, s.getenv)
	if err != nil {
		return nil, err
	}
	if key.Value == "" && len(p.KeyVars) > 0 {
		return nil, &model.Error{Provider: p.Name, Kind: model.Auth, Message: "there is no key for it", Hint: e.KeyHint}
	}
	if e.Key = key.Value; key.Value != "" {
		e.KeyHint = "check the key from " + key.Source
	}
	if e.Headers, err = s.headers(p.Name); err != nil {
		return nil, err
	}
	id, err := s.modelID(ctx, p, c, e)
	if err != nil {
		return nil, err
	}
	info := s.info(p.Name, id)
	return &answering{model.New(e, id, info.Abilities), p.Name, info}, nil
}

// provider finds a provider by name: a built-in one, or one that the settings describe.
func (s *source) provider(name string) (model.Provider, error) {
	known := model.Providers()
	if i := slices.IndexFunc(known, func(p model.Provider) bool { return p.Name == name }); i >= 0 {
		return known[i], nil
	}
	own, ok := s.settings().Providers[name]
	if ok && own.BaseURL != "" {
		return model.Provider{Name: name, Dialect: model.OpenAI, BaseURL: own.BaseURL}, nil
	}
	if ok {
		return model.Provider{}, fmt.Errorf("the provider %q is none of nimlet's own, so the configuration must say where it is: set providers.%s.base_url", name, name)
	}
	return model.Provider{}, fmt.Errorf("there is no provider %q; there are: %s", name, strings.Join(s.providerNames(), ", "))
}

// providerNames lists all providers that can be chosen.
func (s *source) providerNames() []string {
	var names []string
	for _, p := range model.Providers() {
		names = append(names, p.Name)
	}
	var own []string
	for name, p := range s.settings().Providers {
		if p.BaseURL != "" && !slices.Contains(names, name) {
			own = append(own, name)
		}
	}
	slices.Sort(own)
	return append(append(names, own...), offlineName)
}

// endpointOf says how a provider is reached: as built in, changed by the settings.
func (s *source) endpointOf(p model.Provider) model.Endpoint {
	settings := s.settings()
	own := settings.Providers[p.Name]
	e := model.Endpoint{
		Name: p.Name, Dialect: p.Dialect, BaseURL: p.BaseURL, Options: own.Options,
		Timeout: settings.Agent.RequestTimeout, KeyHint: keyHint(p),
	}
	if own.BaseURL != "" {
		e.BaseURL = own.BaseURL
	}
	return e
}

// headers returns those that the settings add, with the secrets that they name put in.
func (s *source) headers(provider string) (map[string]string, error) {
	resolved := map[string]string{}
	for name, written := range s.settings().Providers[provider].Headers {
		value, err := config.Resolve(s.home, written, s.getenv)
		if err != nil {
			return nil, fmt.Errorf("reading providers.%s.headers.%s: %w", provider, name, err)
		}
		resolved[name] = value
	}
	return resolved, nil
}

// keyHint says where a key can be put.
func keyHint(p model.Provider) string {
	if len(p.KeyVars) == 0 {
		return fmt.Sprintf("set providers.%s.api_key in config.json", p.Name)
	}
	return fmt.Sprintf("set %s, or put the key into auth.json", strings.Join(p.KeyVars, " or "))
}

// knownID returns the model that a choice means; "" for whatever a local server has.
func (s *source) knownID(p model.Provider, c Choice) string {
	settings := s.settings()
	standard := settings.DefaultModel
	if settings.DefaultProvider != "" && settings.DefaultProvider != p.Name {
		standard = ""
	}
	return cmp.Or(c.Model, standard, settings.Providers[p.Name].LastModel, p.DefaultModel)
}

// modelID returns the model that a choice means.
func (s *source) modelID(ctx context.Context, p model.Provider, c Choice, e model.Endpoint) (string, error) {
	if id := s.knownID(p, c); id != "" {
		return id, nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	models, err := model.Probe(ctx, e.BaseURL)
	if err != nil {
		return "", fmt.Errorf("choosing a model of %s: %w; start it, or name a model with /model", p.Name, err)
	}
	if len(models) == 0 {
		return "", fmt.Errorf("%s lists no models: load one there, or name one with /model", p.Name)
	}
	return models[0], nil
}

// info is what is known of a model, with what the settings say of it.
func (s *source) info(provider, id string) model.Info {
	info, _ := model.Lookup(provider, id)
	for _, m := range s.settings().Models {
		if m.ID != id || m.Provider != "" && m.Provider != provider {
			continue
		}
		if m.ContextWindow > 0 {
			info.ContextWindow = m.ContextWindow
		}
		if m.Price != (config.Price{}) {
			price := model.Price(m.Price)
			info.Price = &price
		}
	}
	return info
}
