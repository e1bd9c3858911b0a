package docs_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/filter"
	"github.com/meanwhile-go/meanwhile/logs/remote"
	"github.com/meanwhile-go/meanwhile/logs/segment"
)

// TestFilters reads each filter in the table of the guide to searching.
func TestFilters(t *testing.T) {
	text, err := os.ReadFile("logs-search.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| filter | finds records |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	found := 0
	for line := range strings.Lines(table) {
		match := strings.ReplaceAll(strings.Trim(span.FindString(line), "`"), `\|`, "|")
		if _, err := filter.Parse(match); err != nil {
			t.Errorf("%s: %v", match, err)
		}
		found++
	}
	if found < 20 {
		t.Errorf("the table has %d filters", found)
	}
}

// TestFiltersOfOthers reads each filter in the table of LogQL.
func TestFiltersOfOthers(t *testing.T) {
	text, err := os.ReadFile("logs-coming-from.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| LogQL | filter |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	found := 0
	for line := range strings.Lines(table) {
		columns := strings.Split(line, " | ")
		match := strings.ReplaceAll(strings.Trim(span.FindString(columns[len(columns)-1]), "`"), `\|`, "|")
		if strings.HasPrefix(match, "meanwhile ") {
			continue
		}
		if _, err := filter.Parse(match); err != nil {
			t.Errorf("%s: %v", match, err)
		}
		found++
	}
	if found < 6 {
		t.Errorf("the table has %d filters", found)
	}
}

// TestSearchCommands runs the commands of the guide to searching, on a store with a record.
func TestSearchCommands(t *testing.T) {
	testenv.LongTest(t)
	testenv.Program(t, "sh")
	folder := t.TempDir()
	putCommand(t, folder)
	kept := filepath.Join(folder, "meanwhile-logs")
	r := logs.Record{Time: time.Now(), Level: slog.LevelError, Service: "api", Message: "timed out", Attrs: []slog.Attr{slog.Int("status", 503)}}
	v := r.View()
	batch := &logs.Batch{Service: r.Service}
	batch.Add(&v)
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		store, err := segment.Open(ctx, kept, segment.Config{})
		if err != nil {
			return err
		}
		if err := store.Append(ctx, batch); err != nil {
			return err
		}
		return store.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	store, err := segment.OpenReadOnly(kept, segment.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	server := httptest.NewServer(remote.Handler(store, func() any { return map[string]int{"records": 1} }))
	defer server.Close()
	for _, b := range readBlocks(t, "logs-search.md") {
		if b.kind != "sh" {
			continue
		}
		run := exec.CommandContext(t.Context(), "sh", "-ec", b.text)
		run.Dir = folder
		run.Env = append(os.Environ(), "MEANWHILE_LOGS_SERVER="+server.URL, "PATH="+folder+string(os.PathListSeparator)+os.Getenv("PATH"))
		if out, err := run.CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", b, err, out)
		}
	}
}
