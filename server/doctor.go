package server

import (
	"context"
	"fmt"
	"strings"

	"nimlet/agent"
	"nimlet/agent/config"
	"nimlet/agent/model"
	"nimlet/session"
)

// Doctor tells how nimlet would work in dir, line by line: which file each setting comes from, who
// answers and whether there is a key (never the key), trust, instructions, skills and templates,
// and what is wrong with each. With test, one small request is made. healthy is false when
// something is wrong that the user should mend.
func (s *Server) Doctor(ctx context.Context, dir string, test bool) (lines []string, healthy bool) {
	d := &diagnosis{server: s, dir: dir, healthy: true}
	d.trust()
	d.settings()
	d.answers(ctx, test)
	d.texts()
	return d.lines, d.healthy
}

// A diagnosis grows as the parts of it are looked at.
type diagnosis struct {
	server  *Server
	dir     string
	trusted bool
	merged  config.Settings
	lines   []string
	healthy bool
}

func (d *diagnosis) say(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diagnosis) wrong(format string, args ...any) {
	d.healthy = false
	d.say("  problem: "+format, args...)
}

func (d *diagnosis) trust() {
	o := d.server.opts
	d.say("nimlet %s, files in %s", o.Version, o.Home)
	d.say("workspace: %s", d.dir)
	decision, err := o.Home.Trust(d.dir)
	if err != nil {
		d.wrong("%v", err)
	}
	d.trusted = decision == config.Trusted
	if o.Trust != nil {
		d.trusted = *o.Trust
	}
	d.say("trust: %s", map[bool]string{true: "trusted", false: "not trusted"}[d.trusted])
	if files := config.ProjectFiles(o.Home, o.UserHome, d.dir); !d.trusted && len(files) > 0 {
		d.say("  left out: %s (nimlet trust on loads them)", strings.Join(files, ", "))
	}
}

func (d *diagnosis) settings() {
	o := d.server.opts
	var problems []config.Problem
	d.merged, problems = config.Load(o.Home, d.dir, d.trusted, o.ConfigFile)
	d.say("settings:")
	origins := config.Origins(o.Home, d.dir, d.trusted, o.ConfigFile)
	for _, origin := range origins {
		d.say("  %s: %s:%d", origin.Key, origin.File, origin.Line)
	}
	if len(origins) == 0 {
		d.say("  all as they are without a file")
	}
	for _, p := range problems {
		d.wrong("%s", p)
	}
	d.say("sessions: %s", d.merged.Agent.SessionDir)
	if err := session.Usable(d.merged.Agent.SessionDir); err != nil {
		d.wrong("%v", err)
	}
}

// answers says who would answer and why, as a session's first prompt would find it.
func (d *diagnosis) answers(ctx context.Context, test bool) {
	o := d.server.opts
	src := &source{
		home: o.Home, getenv: d.server.getenv, settings: func() config.Settings { return d.merged },
		warn: func(format string, args ...any) { d.wrong(format, args...) },
	}
	src.choose(d.server.firstChoice(d.merged, session.InMemory(session.Header{})))
	d.say("keys:")
	for _, name := range src.providerNames() {
		p, err := src.provider(name)
		if err != nil || p.Local {
			continue // offline, and local servers, need no key
		}
		key, err := d.merged.FindKey(o.Home, p.Name, p.KeyVars, d.server.getenv)
		switch {
		case err != nil:
			d.wrong("%s: %v", p.Name, err)
		case key.Value != "":
			d.say("  %s: set, from %s", p.Name, key.Source)
		default:
			d.say("  %s: none", p.Name)
		}
	}
	ready, err := src.resolve(ctx)
	if err != nil {
		d.wrong("%v", err)
		return
	}
	d.say("answers come from: %s, model %s, thinking %s, context window %d tokens", ready.provider, ready.info.ID, src.chosen().Thinking, src.window())
	if test {
		d.ask(ctx, src)
	}
}

// ask makes one small request.
func (d *diagnosis) ask(ctx context.Context, src *source) {
	r := model.Request{
		System: "Answer with the word ok.", MaxTokens: 200,
		Messages: []session.Message{{Role: session.RoleUser, Content: []session.Part{session.Text{Text: "Are you there?"}}}},
	}
	for chunk, err := range src.Stream(ctx, r) {
		if err != nil {
			d.wrong("the test request failed: %v", err)
			return
		}
		if retry, ok := chunk.(model.Retrying); ok {
			d.say("  trying again in %s: %v", retry.Wait, retry.Err)
		}
	}
	d.say("test request: answered")
}

func (d *diagnosis) texts() {
	o := d.server.opts
	instructions, problems := config.Instructions(o.Home, d.dir)
	_, _, more := config.SystemPrompt(o.Home, d.dir, d.trusted)
	skills, skillWarnings := agent.Skills(config.SkillRoots(o.Home, o.UserHome, d.dir, d.trusted))
	templates, templateWarnings := agent.Templates(config.PromptRoots(o.Home, o.UserHome, d.dir, d.trusted))
	d.say("instructions: %d, skills: %d, prompt templates: %d", len(instructions), len(skills), len(templates))
	for _, i := range instructions {
		d.say("  %s", i.File)
	}
	for _, k := range skills {
		d.say("  skill %s: %s", k.Name, k.File)
	}
	for _, t := range templates {
		d.say("  /%s: %s", t.Name, t.File)
	}
	for _, p := range append(problems, more...) {
		d.wrong("%s", p)
	}
	for _, w := range append(skillWarnings, templateWarnings...) {
		d.wrong("%s", w)
	}
	if d.trusted {
		_, problems := config.ProjectPermissions(d.dir)
		for _, p := range problems {
			d.wrong("%s", p)
		}
	}
}

func (s *Session) doctor(ctx context.Context, args string) (string, error) {
	if args != "" && args != "test" {
		return usage("takes nothing or \"test\", not %q", args)
	}
	lines, _ := s.server.Doctor(ctx, s.workspace.Root(), args == "test")
	fence := "```"
	return fence + "\n" + strings.Join(lines, "\n") + "\n" + fence, nil
}
