package headless

import (
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/zap/zapcore"

	"nimlet/agent/config"
	"nimlet/agent/model"
	"nimlet/server"
	"nimlet/tooling"
)

// Flags are those that serving an editor and running a prompt share.
type Flags struct {
	tools     []string
	allow     []string
	yolo      bool
	noSession bool
	approve   bool
	noApprove bool
	config    string
	log       string
	logLevel  string
	provider  string
	model     string
	thinking  string
}

// Register adds the flags to a command's own. One command is called in a process, so several may
// register the same Flags.
func (f *Flags) Register(c *cobra.Command) {
	set := c.Flags()
	set.StringSliceVar(&f.tools, "tools", nil, "offer only these `tools`, with commas between them; \"none\" offers none")
	set.StringVar(&f.provider, "provider", "", "ask the models of this `name`; \"offline\" asks none")
	set.StringVar(&f.model, "model", "", "ask the model of this `id`")
	set.StringVar(&f.thinking, "thinking", "", "have it think this `level` before it answers: off, minimal, low, medium, high or xhigh")
	set.StringArrayVar(&f.allow, "allow", nil, "allow what this `key` covers without asking, such as \"bash:go test ./...\" (repeatable)")
	set.BoolVar(&f.yolo, "yolo", false, "allow everything without asking, dangerous commands included")
	set.BoolVar(&f.noSession, "no-session", false, "keep the conversation in memory only")
	set.BoolVar(&f.approve, "approve", false, "trust the folder's own settings, permissions and skills in this run")
	set.BoolVar(&f.noApprove, "no-approve", false, "leave them out in this run, trusted or not")
	Exclusive(c, "approve", "no-approve")
	f.registerFiles(set)
}

// registerFiles adds those that say which files are read and written.
func (f *Flags) registerFiles(set *pflag.FlagSet) {
	set.StringVar(&f.config, "config", "", "read settings from this `file` too; they win over all others")
	set.StringVar(&f.log, "log", "", "append the log to this `file`, as JSON")
	set.StringVar(&f.logLevel, "log-level", "", "log this `level` and above: debug, info, warn or error")
}

// Options makes of the flags what a server is started with. The log goes to standard error too, from
// the level quiet upwards unless --log-level says otherwise; end closes the log.
func (f *Flags) Options(c *cobra.Command, quiet zapcore.Level) (o server.Options, end func(), err error) {
	home, err := config.FindHome(os.Getenv)
	if err != nil {
		return server.Options{}, nil, err
	}
	allow, err := keys(f.allow)
	if err != nil {
		return server.Options{}, nil, err
	}
	if f.thinking != "" && !slices.Contains(model.Levels(), model.Level(f.thinking)) {
		return server.Options{}, nil, usageErrorf("--thinking: there is no level %q; there are: %v", f.thinking, model.Levels())
	}
	log, end, err := f.openLog(quiet)
	if err != nil {
		return server.Options{}, nil, err
	}
	o = server.Options{
		Version: Version(), Home: home, UserHome: config.UserHome(os.Getenv), ConfigFile: f.config,
		Allow: allow, Yolo: f.yolo, NoSession: f.noSession, Environ: os.Environ(), Logger: log,
		Choice: server.Choice{Provider: f.provider, Model: f.model, Thinking: model.Level(f.thinking)},
	}
	if c.Flags().Changed("tools") {
		o.Tools = []string{}
		if len(f.tools) != 1 || f.tools[0] != "none" {
			o.Tools = append(o.Tools, f.tools...)
		}
	}
	if f.approve || f.noApprove {
		o.Trust = &f.approve
	}
	return o, end, nil
}

// keys reads what was given as --allow. One that is no key would be refused without a word otherwise,
// at the first call that it was meant for.
func keys(given []string) ([]string, error) {
	allow := make([]string, len(given))
	for i, text := range given {
		key, err := tooling.ParseKey(text)
		if err != nil {
			return nil, usageErrorf("--allow: %v", err)
		}
		allow[i] = key
	}
	return allow, nil
}
