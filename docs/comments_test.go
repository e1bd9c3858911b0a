package docs_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A comment is the documentation of an exported identifier, or of a package.
type comment struct {
	name string // such as job.Config.Lease
	text string
	own  string // the identifier that the text has to start with; none for a package, a field and a group
}

// exportedComments returns the documentation that pkg.go.dev shows of this module.
func exportedComments(t *testing.T) []comment {
	t.Helper()
	var all []comment
	for _, folder := range packageFolders(t) {
		set := token.NewFileSet()
		paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		var files []*ast.File
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
		if len(files) == 0 || files[0].Name.Name == "main" {
			continue
		}
		name := strings.TrimPrefix(filepath.ToSlash(folder), "../")
		p, err := doc.NewFromFiles(set, files, "github.com/meanwhile-go/meanwhile/"+name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, commentsOf(p)...)
	}
	return all
}

// packageFolders returns the folders of packages that programs may import.
func packageFolders(t *testing.T) []string {
	t.Helper()
	folders := []string{".."}
	err := filepath.WalkDir("..", func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.IsDir() || path == ".." {
			return err
		}
		if name := entry.Name(); name == "internal" || name == "testdata" || name == "cmd" || name == "examples" || strings.HasPrefix(name, ".") {
			return filepath.SkipDir
		}
		if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
			return filepath.SkipDir // another module
		}
		folders = append(folders, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return folders
}

func commentsOf(p *doc.Package) []comment {
	all := []comment{{name: "package " + p.Name, text: p.Doc}}
	values := func(groups []*doc.Value) {
		for _, v := range groups {
			c := comment{name: p.Name + "." + v.Names[0], text: v.Doc}
			if !v.Decl.Lparen.IsValid() {
				c.own = v.Names[0]
			}
			all = append(all, c)
			for _, spec := range v.Decl.Specs {
				s, ok := spec.(*ast.ValueSpec)
				if !ok || !s.Names[0].IsExported() {
					continue
				}
				c := comment{name: p.Name + "." + s.Names[0].Name, text: s.Doc.Text() + " " + s.Comment.Text()}
				if s.Doc != nil {
					c.own = s.Names[0].Name
				}
				all = append(all, c)
			}
		}
	}
	funcs := func(prefix string, list []*doc.Func) {
		for _, f := range list {
			all = append(all, comment{name: prefix + f.Name, text: f.Doc, own: f.Name})
		}
	}
	values(p.Consts)
	values(p.Vars)
	funcs(p.Name+".", p.Funcs)
	for _, typ := range p.Types {
		all = append(all, comment{name: p.Name + "." + typ.Name, text: typ.Doc, own: typ.Name})
		values(typ.Consts)
		values(typ.Vars)
		funcs(p.Name+".", typ.Funcs)
		funcs(p.Name+"."+typ.Name+".", typ.Methods)
		for _, spec := range typ.Decl.Specs {
			all = append(all, fieldComments(p.Name+"."+typ.Name, spec.(*ast.TypeSpec).Type)...)
		}
	}
	return all
}

// fieldComments returns the documentation of the exported fields of a struct and methods of an interface.
func fieldComments(name string, typ ast.Expr) (all []comment) {
	var fields *ast.FieldList
	switch typ := typ.(type) {
	case *ast.StructType:
		fields = typ.Fields
	case *ast.InterfaceType:
		fields = typ.Methods
	default:
		return nil
	}
	for _, field := range fields.List {
		if len(field.Names) > 0 && !field.Names[0].IsExported() {
			continue
		}
		label := name
		if len(field.Names) > 0 {
			label += "." + field.Names[0].Name
		}
		all = append(all, comment{name: label, text: field.Doc.Text() + " " + field.Comment.Text()})
	}
	return all
}

// TestCommentsStartWithTheName wants a doc comment for each exported identifier, which starts with its name.
func TestCommentsStartWithTheName(t *testing.T) {
	comments := exportedComments(t)
	if len(comments) < 500 {
		t.Errorf("found only %d comments", len(comments))
	}
	for _, c := range comments {
		if c.own != "" && !startsWithName(c.text, c.own) {
			t.Errorf("the doc comment of %s does not start with %s: %.60q", c.name, c.own, c.text)
		}
	}
}

// startsWithName reports whether the first words of a text are a name, behind an article at most.
func startsWithName(text, name string) bool {
	words := strings.Fields(text)
	if len(words) > 1 && slices.Contains([]string{"A", "An", "The"}, words[0]) {
		words = words[1:]
	}
	return len(words) > 0 && strings.TrimRight(words[0], ".,:;") == name || strings.HasPrefix(text, "Deprecated:")
}

func TestCommentsViolations(t *testing.T) {
	for text, want := range map[string]bool{
		"Run opens a scope.": true, "A Run is one.": true, "Run, like others, opens": true,
		"": false, "Opens a scope, as Run does.": false, "Runs a scope.": false,
	} {
		if got := startsWithName(text, "Run"); got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
}

// TestWordsOfComments finds private words in the documentation of exported identifiers.
func TestWordsOfComments(t *testing.T) {
	for _, c := range exportedComments(t) {
		checkWords(t, c.name, c.text, privateWords)
	}
}
