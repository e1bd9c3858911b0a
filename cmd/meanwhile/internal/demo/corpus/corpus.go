// Package corpus has a thousand documents for indexing: doc comments of the Go standard library, extracted by the program in its
// folder generate. They are under Go's license, which is in the same folder.
package corpus

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

//go:generate go run ./generate

// Size is the number of documents.
const Size = 1000

// A Document is the doc comment of one name in the standard library.
type Document struct {
	Package string `json:"package"` // its import path
	Symbol  string `json:"symbol"`  // such as Client.Do; empty for the package itself
	Text    string `json:"text"`
}

// ID returns a unique name for the document.
func (d Document) ID() string {
	if d.Symbol == "" {
		return d.Package
	}
	return d.Package + "." + d.Symbol
}

//go:embed documents.jsonl.gz
var compressed []byte

// Documents returns all documents, sorted by package and symbol.
func Documents() ([]Document, error) {
	documents, err := read(bytes.NewReader(compressed))
	if err != nil {
		return nil, fmt.Errorf("read the documents: %w", err)
	}
	return documents, nil
}

// read reads documents from gzipped lines.
func read(r io.Reader) ([]Document, error) {
	lines, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	documents := make([]Document, 0, Size)
	for decoder := json.NewDecoder(lines); ; {
		var d Document
		if err := decoder.Decode(&d); errors.Is(err, io.EOF) {
			return documents, nil
		} else if err != nil {
			return nil, err
		}
		documents = append(documents, d)
	}
}
