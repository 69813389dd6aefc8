package builtin

import (
	"os"
	"path/filepath"
	"slices"

	"nimlet/session"
	"nimlet/tooling"
)

// Writing to these changes what the agent may do, or what git and the editor run: it is asked
// for each time, whatever was granted.
var (
	protectedFolders = []string{".nimlet", ".agents", ".agent", ".git", ".vscode"}
	protectedFile    = "AGENTS.md"
)

// writeNeed is the permission that a change of the file at path needs.
func (w *Workspace) writeNeed(path string) tooling.Need {
	p, err := w.Resolve(path, ForWriting)
	if err != nil {
		return tooling.Need{Free: true} // the run resolves it again, and refuses
	}
	name := w.protection(p)
	if name == "" {
		return tooling.Need{Free: true}
	}
	stands := p.Short + " lies in " + name + ", which"
	if filepath.Base(p.Short) == name {
		stands = p.Short
	}
	return tooling.Need{
		Subject: "a change of " + p.Short,
		Reason:  stands + " changes what the agent may do, or what the editor and git run",
	}
}

// Protect adds files and folders that are protected wherever they lie: those from which nimlet
// itself takes what it may do, which need not be in a folder of a protected name. They must be
// absolute; they need not exist, and links in them are followed when a change is judged.
func (w *Workspace) Protect(paths ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, path := range paths {
		if path != "" && !slices.Contains(w.guarded, path) {
			w.guarded = append(w.guarded, path)
		}
	}
}

// protection is the protected name that p stands under, "" for none. The path counts as it was
// asked for and as it resolves, at any depth; so does what a protected name of a workspace folder
// leads to, and what was given to Protect.
func (w *Workspace) protection(p Place) string {
	for _, path := range []string{p.Asked, p.Path} {
		if name := protectedName(path); name != "" {
			return name
		}
	}
	for _, root := range w.Roots() {
		for _, name := range append(slices.Clone(protectedFolders), protectedFile) {
			link := filepath.Join(root, name)
			if _, err := os.Readlink(link); err == nil && leadsTo(link, p.Path) {
				return name
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, guarded := range w.guarded {
		if leadsTo(guarded, p.Path) {
			return filepath.Base(guarded)
		}
	}
	return ""
}

// leadsTo reports whether path, which is resolved, is or lies below what the other leads to.
func leadsTo(other, path string) bool {
	target, err := resolveLinks(other, 0)
	if err != nil {
		return false
	}
	_, below := within(target, path)
	return below
}

func protectedName(path string) string {
	if sameName(filepath.Base(path), protectedFile) {
		return protectedFile
	}
	for name := ""; path != ""; {
		name, path = nextName(path)
		for _, folder := range protectedFolders {
			if sameName(name, folder) {
				return folder
			}
		}
	}
	return ""
}

// places is the location that Describe gives for a call about one path, none for a bad one.
func (w *Workspace) places(path string, line int) []session.Location {
	p, err := w.Resolve(path, ForReading)
	if err != nil {
		return nil
	}
	return []session.Location{{Path: p.Name, Line: line}}
}
