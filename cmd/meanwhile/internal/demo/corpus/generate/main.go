// Generate writes the documents of the package above it: of the doc comments of all exported names in the Go standard library, it
// selects a thousand at even distances in the list. The result is always the same for one version of Go.
//
//	go generate ./cmd/meanwhile/internal/demo/corpus
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/demo/corpus"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// run runs the program.
func run(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("generate", flag.ContinueOnError)
	flags.SetOutput(stderr)
	out := flags.String("o", "documents.jsonl.gz", "`file` to write")
	source := flags.String("source", "", "`folder` with the packages; the default is GOROOT/src")
	size := flags.Int("n", corpus.Size, "how many documents")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *source == "" {
		root, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			return fmt.Errorf("ask go for its folder: %w", err)
		}
		*source = filepath.Join(strings.TrimSpace(string(root)), "src")
	}
	all, err := extract(*source)
	if err != nil {
		return err
	}
	if len(all) < *size {
		return fmt.Errorf("%s has %d documents, fewer than %d", *source, len(all), *size)
	}
	text, err := compress(spread(all, *size))
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%d of %d documents, %d bytes\n", *size, len(all), len(text))
	return os.WriteFile(*out, text, 0o666)
}

// spread selects n documents at even distances.
func spread(all []corpus.Document, n int) []corpus.Document {
	some := make([]corpus.Document, n)
	for i := range some {
		some[i] = all[i*len(all)/n]
	}
	return some
}

// compress returns one line for each document, gzipped. The gzip header has no time.
func compress(documents []corpus.Document) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	lines := json.NewEncoder(z)
	lines.SetEscapeHTML(false)
	for _, d := range documents {
		if err := lines.Encode(d); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
