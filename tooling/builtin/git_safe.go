package builtin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"nimlet/tooling"
)

// A repository may come from anywhere, and its config can name programs for nearly everything
// git does. None of them is run by the git tool:
//
//   - what has a fixed key is overridden on the command line (gitOverrides)
//   - filters, which have names of their own, are read from the config and overridden one by one
//   - external diffs and textconv are switched off by the options of each operation
//   - submodules are compared by their commit alone, since git would run itself in them
//   - no transport is allowed, since a partial clone fetches what it lacks in the middle of a log
//   - nothing is written (GIT_OPTIONAL_LOCKS), so no hook has a reason to run
var gitOverrides = []string{
	"core.fsmonitor=", "core.hooksPath=" + os.DevNull, "core.pager=cat", "core.editor=", "core.askPass=",
	"core.sshCommand=", "core.gitProxy=", "core.alternateRefsCommand=", "credential.helper=",
	"diff.external=", "diff.submodule=short", "submodule.recurse=false", "status.submoduleSummary=false",
	"log.showSignature=false", "log.diffMerges=separate",
	"gpg.program=", "gpg.openpgp.program=", "gpg.x509.program=", "gpg.ssh.program=", "gpg.ssh.defaultKeyCommand=",
	"protocol.allow=never", "blame.ignoreRevsFile=", "core.quotePath=false", "status.relativePaths=true", "color.ui=false",
}

// A gitRepo is git, made safe for the repository around one folder.
type gitRepo struct {
	program string
	dir     string
	env     []string
	options []string // before the subcommand
	most    int      // bytes of an answer
}

// openGit looks at the config around dir, without following it, and makes git safe for it.
func (t git) openGit(ctx context.Context, dir string) (*gitRepo, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, errors.New("git is not installed")
	}
	g := &gitRepo{program: program, dir: dir, env: gitEnv(t.Env), most: t.MaxOutput}
	if g.most <= 0 {
		g.most = defaultOutput
	}
	g.options = []string{"--no-pager", "--literal-pathspecs"}
	for _, override := range gitOverrides {
		g.options = append(g.options, "-c", override)
	}
	const all = 16 << 20 // bytes; the list must not be cut
	list := &gitRepo{program: program, dir: dir, env: g.env, options: g.options, most: all}
	keys, err := list.run(ctx, 0, "config", "--list", "--name-only", "-z")
	if err != nil {
		return nil, err
	}
	for key := range strings.SplitSeq(keys, "\x00") {
		if !strings.HasPrefix(key, "filter.") {
			continue
		}
		if strings.Contains(key, "=") { // it could not be overridden
			return nil, fmt.Errorf("the repository's config has a filter with = in its name (%q), which git cannot be kept from running", key)
		}
		value := "" // no program
		if strings.HasSuffix(key, ".required") {
			value = "false"
		}
		g.options = append(g.options, "-c", key+"="+value)
	}
	return g, nil
}

// The variables of git that say where the user's own config is and how far to look for a
// repository. All others could name a program, a file to write or another repository.
var gitVariables = []string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM"}

func gitEnv(env []string) []string {
	if env == nil {
		env = os.Environ()
	}
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return strings.HasPrefix(name, "GIT_") && !slices.Contains(gitVariables, name)
	})
	return append(env, "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1", "LC_ALL=C")
}

// run runs git and returns what it wrote, cut after lines (0: none) and after g.most bytes, with
// a last line that says so.
func (g *gitRepo) run(ctx context.Context, lines int, words ...string) (string, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	out := &bounded{bytesLeft: g.most, linesLeft: lines, stop: stop}
	problem := &bounded{bytesLeft: 4000, stop: func() {}}
	exit, err := tooling.Process{
		Path: g.program, Args: append(g.options[:len(g.options):len(g.options)], words...),
		Env: g.env, Dir: g.dir, Stdout: out, Stderr: problem,
	}.Run(ctx)
	text := strings.ToValidUTF8(out.String(), "\uFFFD")
	switch {
	case out.cut:
		return text + "\n(there is more; narrow it by path, commit or limit)\n", nil
	case err != nil:
		return "", err
	case exit.Code != 0:
		return "", errors.New(strings.TrimSpace(cmp.Or(problem.String(), "git ended with "+exit.Signal)))
	}
	return text, nil
}
