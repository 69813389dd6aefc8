package server

import (
	"nimlet/agent"
	"nimlet/agent/config"
	"nimlet/tooling"
	"nimlet/tooling/builtin"
)

// defaultContextWindow is assumed of a model nothing is known about, in tokens.
const defaultContextWindow = 128_000

// wire builds what depends on trust and settings: tools, instructions, commands and the agent. It
// runs between turns, when a session starts, begins anew, or is trusted.
func (s *Session) wire(mode agent.Mode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings = s.loadSettings()
	skills, templates := s.loadSkills(), s.loadTemplates()
	s.tools = s.buildTools(skills)
	s.watched = s.sources(skills, templates)
	s.stamp = stampOf(s.watched)
	s.source.renew()
	s.agent = agent.New(agent.Config{
		Log:           s.store,
		Model:         s.source,
		Identity:      s.source.identity,
		Window:        s.source.window,
		Cost:          s.source.cost,
		Spent:         s.store.Spent(),
		System:        s.systemPrompt(skills),
		Tools:         s.tools,
		Beside:        s.nearby,
		Permissions:   s.permissions,
		Mode:          mode,
		Emit:          s.editor.Emit,
		Ask:           s.editor.Ask,
		AskPermission: s.editor.AskPermission,
		MaxSteps:      s.settings.Agent.MaxSteps,
		MaxTokens:     s.settings.Agent.MaxTokens,
		Steering:      agent.QueueMode(s.settings.Agent.SteeringMode),
		FollowUp:      agent.QueueMode(s.settings.Agent.FollowUpMode),
		Logger:        s.server.opts.Logger,
	})
	s.commands = s.buildCommands(skills, templates)
}

// loadSettings reads the settings that hold here; what is wrong in them is told once.
func (s *Session) loadSettings() config.Settings {
	o := s.server.opts
	settings, problems := config.Load(o.Home, s.workspace.Root(), s.trusted, o.ConfigFile)
	for _, p := range problems {
		s.noteProblem(p)
	}
	return settings
}

func (s *Session) loadSkills() []agent.Skill {
	o := s.server.opts
	skills, warnings := agent.Skills(config.SkillRoots(o.Home, o.UserHome, s.workspace.Root(), s.trusted))
	for _, w := range warnings {
		s.noteLocked(agent.Warning, w)
	}
	return skills
}

func (s *Session) loadTemplates() []agent.Template {
	o := s.server.opts
	templates, warnings := agent.Templates(config.PromptRoots(o.Home, o.UserHome, s.workspace.Root(), s.trusted))
	for _, w := range warnings {
		s.noteLocked(agent.Warning, w)
	}
	return templates
}

func (s *Session) buildTools(skills []agent.Skill) *tooling.Registry {
	known := make([]builtin.Skill, len(skills))
	for i, k := range skills {
		known[i] = builtin.Skill(k)
		s.workspace.AllowRead(k.Dir)
	}
	s.workspace.AllowRead(s.outputDir(s.store))
	tools := builtin.Tools(builtin.Config{
		Workspace: s.workspace,
		Buffers:   s.editor.Buffers,
		OutputDir: s.outputDir(s.store),
		MaxOutput: s.settings.Tools.Bash.MaxOutputBytes,
		Skills:    func() []builtin.Skill { return known },
		Env:       s.settings.ChildEnviron(s.server.opts.Environ),
	})
	registry, warnings := tooling.NewRegistry(tools, s.server.opts.Tools)
	for _, w := range warnings {
		s.noteLocked(agent.Warning, w)
	}
	return registry
}

func (s *Session) systemPrompt(skills []agent.Skill) string {
	replace, appended, problems := config.SystemPrompt(s.server.opts.Home, s.workspace.Root(), s.trusted)
	for _, p := range problems {
		s.noteProblem(p)
	}
	found, more := config.Instructions(s.server.opts.Home, s.workspace.Root())
	for _, p := range more {
		s.noteProblem(p)
	}
	instructions := make([]agent.Instruction, len(found))
	for i, f := range found {
		instructions[i] = agent.Instruction(f)
	}
	return agent.SystemPrompt(agent.Prompt{
		Replace: replace, Append: appended, Workspace: s.workspace.Root(), Instructions: instructions, Skills: skills,
	})
}
