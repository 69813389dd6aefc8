package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The map of packages: what each may import of ours. A package that is not on it fails too, so that a
// new one is a decision. "server/*" is every package below server. What lies under internal/ supports
// tests: it may import all, and nothing on the map may import it.
var mayImport = map[string][]string{
	"session":         {},
	"transport":       {},
	"tooling":         {"session"},
	"tooling/builtin": {"tooling", "session"},
	"agent/config":    {},
	"agent/model":     {"session", "tooling"},
	"agent":           {"session", "tooling", "agent/model"},
	"server":          core,
	"server/acp":      append([]string{"server"}, core...),
	"server/headless": append([]string{"server", "server/acp"}, core...), // acp for its update objects
	".":               {"server", "server/*", "agent/config", "transport"},
	"bench/bareloop":  {}, // the yardstick owes nothing to what it measures
	"bench":           {},
}

// core is all that lies below server.
var core = []string{"session", "transport", "tooling", "tooling/builtin", "agent/config", "agent/model", "agent"}

// A source is one Go file of the module.
type source struct {
	path string // slash-separated, from the root
	pkg  string // its folder, "." for the root
	test bool
	file *ast.File
}

func sources(t *testing.T) (*token.FileSet, []source) {
	t.Helper()
	set := token.NewFileSet()
	var all []source
	for _, name := range moduleFiles(t) {
		if path.Ext(name) != ".go" {
			continue
		}
		file, err := parser.ParseFile(set, filepath.FromSlash(name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			continue
		}
		all = append(all, source{path: name, pkg: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), file: file})
	}
	return set, all
}

// moduleFiles returns the files of the module, slash-separated. Hidden folders, what tools put
// into testdata and what npm installs are not the project's own text.
func moduleFiles(t *testing.T) (names []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		if entry.IsDir() && name != "." && (base[0] == '.' && base != ".ci" || base == "testdata" || base == "node_modules") {
			return filepath.SkipDir
		}
		if entry.Type().IsRegular() {
			names = append(names, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestPackagesImportOnlyWhatTheMapAllows(t *testing.T) {
	set, all := sources(t)
	onDisk := map[string]bool{}
	for _, s := range all {
		onDisk[s.pkg] = true
		if strings.HasPrefix(s.pkg, "internal/") {
			continue
		}
		allowed, known := mayImport[s.pkg]
		if !known {
			t.Errorf("package %s is not on the map: add it to mayImport, and to ARCHITECTURE.md", s.pkg)
			continue
		}
		if s.test {
			continue // a test may bring together what the product keeps apart
		}
		for _, spec := range s.file.Imports {
			if target, ours := ownPackage(spec); ours && !permits(allowed, target) {
				t.Errorf("%s: %s must not import %s", set.Position(spec.Pos()), s.pkg, target)
			}
		}
	}
	if !onDisk["session"] || !onDisk["agent/model"] {
		t.Errorf("the walk found only %v", slices.Sorted(maps.Keys(onDisk)))
	}
}

func ownPackage(spec *ast.ImportSpec) (pkg string, ours bool) {
	name, err := strconv.Unquote(spec.Path.Value)
	if err != nil || name == "nimlet" {
		return ".", err == nil
	}
	return strings.CutPrefix(name, "nimlet/")
}

func permits(allowed []string, pkg string) bool {
	return slices.Contains(allowed, pkg) ||
		slices.Contains(allowed, path.Dir(pkg)+"/*")
}

// ownsStdout are the places that write to standard output: the protocol's, the headless answer's
// and the command line's. Anything printed elsewhere would stand in the middle of the protocol.
func ownsStdout(s source) bool {
	return s.pkg == "." || s.pkg == "bench/bareloop" || s.pkg == "server/headless" ||
		s.pkg == "transport" && strings.HasPrefix(path.Base(s.path), "stdio")
}

func isProgram(s source) bool { return s.pkg == "." || s.pkg == "bench/bareloop" }

func TestProductionCodeKeepsItsHabits(t *testing.T) {
	set, all := sources(t)
	for _, s := range all {
		if s.test || strings.HasPrefix(s.pkg, "internal/") {
			continue
		}
		packages := imported(s.file)
		if _, ok := packages["log"]; ok {
			t.Errorf("%s imports log: logs go through zap", s.path)
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if complaint := complain(s, packages, n); complaint != "" {
				t.Errorf("%s: %s", set.Position(n.Pos()), complaint)
			}
			return true
		})
	}
}

// complain returns what is wrong with n, "" for nothing. packages are the imports of its file, by
// the name they have there.
func complain(s source, packages map[string]string, n ast.Node) string {
	switch n := n.(type) {
	case *ast.FuncDecl:
		if n.Name.Name == "init" && n.Recv == nil {
			return "no init: what a package needs is made where it is used"
		}
	case *ast.CallExpr:
		if name, ok := n.Fun.(*ast.Ident); ok && (name.Name == "print" || name.Name == "println") {
			return name.Name + " writes past the log"
		}
	case *ast.SelectorExpr:
		x, ok := n.X.(*ast.Ident)
		if !ok {
			return ""
		}
		switch used := packages[x.Name] + "." + n.Sel.Name; used {
		case "context.Background", "context.TODO":
			if !isProgram(s) {
				return used + " belongs to main and tests: take the caller's context, without its cancel if need be"
			}
		case "fmt.Print", "fmt.Printf", "fmt.Println", "os.Stdout":
			if !ownsStdout(s) {
				return used + " would write into the protocol"
			}
		}
	}
	return ""
}

// imported returns the import paths of file by the name that each has in it.
func imported(file *ast.File) map[string]string {
	names := map[string]string{}
	for _, spec := range file.Imports {
		full, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(full)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = full
	}
	return names
}

// TestTheRulesBite feeds the checks code that breaks them, so that a check that has gone blind is
// noticed.
func TestTheRulesBite(t *testing.T) {
	const bad = `package x
import ("context"; "fmt"; o "os"; _ "nimlet/server/acp")
func init() {}
func f() { println(); fmt.Println(context.Background(), context.TODO(), o.Stdout); fmt.Fprintln(nil) }
type t struct{}
func (t) init() {}`
	file, err := parser.ParseFile(token.NewFileSet(), "bad.go", bad, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	count := func(s source) (n int) {
		ast.Inspect(file, func(node ast.Node) bool {
			if complain(s, imported(file), node) != "" {
				n++
			}
			return true
		})
		return n
	}
	for _, test := range []struct {
		path string
		want int
	}{
		{"agent/bad.go", 6}, {"transport/conn.go", 6}, {"transport/stdio_unix.go", 4}, {"server/headless/run.go", 4}, {"main.go", 2},
	} {
		if got := count(source{path: test.path, pkg: path.Dir(test.path)}); got != test.want {
			t.Errorf("in %s the checks find %d faults, want %d", test.path, got, test.want)
		}
	}
	target, ours := ownPackage(file.Imports[3])
	if permits(mayImport["server/acp"], "internal/acptest") {
		t.Error("production code may import what is for tests alone")
	}
	for pkg, want := range map[string]bool{"agent": false, "server": false, "server/headless": true, ".": true} {
		if !ours || permits(mayImport[pkg], target) != want {
			t.Errorf("%s may import %s: want %v", pkg, target, want)
		}
	}
}

// TestTextsSpeakOfTheProjectAlone finds paths of the place where the project was made;
// they mean nothing to a reader.
func TestTextsSpeakOfTheProjectAlone(t *testing.T) {
	foreign := []string{"/work/" + "main", "/work/" + "shared", "/tmp/" + "brief", "../" + "shared/"}
	texts := []string{".go", ".md", ".json", ".sh", ".txt", ".txtar", ".ts", ".lua", ".mod", ""}
	for _, name := range moduleFiles(t) {
		if !slices.Contains(texts, path.Ext(name)) {
			continue
		}
		data, err := os.ReadFile(filepath.FromSlash(name))
		if err != nil {
			t.Error(err)
			continue
		}
		if bytes.IndexByte(data, 0) >= 0 {
			continue // a built program, which names the folder it was built in
		}
		for _, word := range foreign {
			if at := bytes.Index(data, []byte(word)); at >= 0 {
				t.Errorf("%s: %q has no place here", fmt.Sprint(name, ":", bytes.Count(data[:at], []byte("\n"))+1), word)
			}
		}
	}
}
