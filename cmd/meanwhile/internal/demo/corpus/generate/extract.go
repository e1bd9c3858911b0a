package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/demo/corpus"
)

// The limits of a document's text, in bytes: a shorter text says little, a longer one is a chapter of a manual.
const (
	shortest = 120
	longest  = 4000
)

// extract returns the documents of all packages below a folder, sorted by package and symbol.
func extract(source string) ([]corpus.Document, error) {
	var documents []corpus.Document
	err := filepath.WalkDir(source, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if path != source && leftOut(entry.Name()) {
			return fs.SkipDir
		}
		name, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		of, err := extractPackage(path, filepath.ToSlash(name))
		documents = append(documents, of...)
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(documents, func(a, b corpus.Document) int { return strings.Compare(a.ID(), b.ID()) })
	return documents, nil
}

// leftOut reports whether a folder has no packages that programs import.
func leftOut(folder string) bool {
	return slices.Contains([]string{"cmd", "internal", "vendor", "testdata", "builtin"}, folder) || strings.HasPrefix(folder, ".") || strings.HasPrefix(folder, "_")
}

// extractPackage returns the documents of a folder, or none if it has no package. It reads the files for Linux on amd64, whatever
// system the program runs on.
func extractPackage(folder, name string) ([]corpus.Document, error) {
	system := build.Context{GOOS: "linux", GOARCH: "amd64", Compiler: "gc", ReleaseTags: build.Default.ReleaseTags}
	found, err := system.ImportDir(folder, 0)
	if _, none := errors.AsType[*build.NoGoError](err); none {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("package %s: %w", name, err)
	}
	files, set := []*ast.File{}, token.NewFileSet()
	for _, file := range found.GoFiles {
		parsed, err := parser.ParseFile(set, filepath.Join(folder, file), nil, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("package %s: %w", name, err)
		}
		files = append(files, parsed)
	}
	p, err := doc.NewFromFiles(set, files, name)
	if err != nil {
		return nil, fmt.Errorf("package %s: %w", name, err)
	}
	return documentsOf(p), nil
}

// documentsOf returns the doc comments of a package, its types, its functions and its methods.
func documentsOf(p *doc.Package) []corpus.Document {
	var documents []corpus.Document
	printer := p.Printer()
	printer.TextWidth = -1 // one line for each paragraph
	add := func(symbol, comment string) {
		text := strings.TrimSpace(string(printer.Text(p.Parser().Parse(comment))))
		if len(text) >= shortest && len(text) <= longest {
			documents = append(documents, corpus.Document{Package: p.ImportPath, Symbol: symbol, Text: text})
		}
	}
	add("", p.Doc)
	for _, f := range p.Funcs {
		add(f.Name, f.Doc)
	}
	for _, t := range p.Types {
		add(t.Name, t.Doc)
		for _, f := range t.Funcs {
			add(f.Name, f.Doc)
		}
		for _, m := range t.Methods {
			add(t.Name+"."+m.Name, m.Doc)
		}
	}
	return documents
}
