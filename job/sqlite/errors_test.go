package sqlite_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
)

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) string {
		if err := os.WriteFile(in(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return in(name)
	}
	foreign, err := sql.Open("sqlite", in("newer.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer foreign.Close()
	if _, err := foreign.Exec("create table meanwhile_schema (version integer not null, readable_from integer not null); insert into meanwhile_schema values (99, 99)"); err != nil {
		t.Fatal(err)
	}
	open(t, in("there.db"))
	tests := []struct {
		name, url, want string
		is              error
	}{
		{"no database", write("text.txt", strings.Repeat("this is no database\n", 100)), "text.txt is no SQLite database", nil},
		{"newer schema", in("newer.db"), "it has version 99, and this program knows up to ", job.ErrSchema},
		{"missing folder", in("missing/jobs.db"), "the folder " + in("missing") + " does not exist", nil},
		{"folder", dir, dir + " is a folder, not a file", nil},
		{"file as folder", in("text.txt/jobs.db"), "not a folder", nil},
		{"not there", "file:" + in("new.db") + "?mode=rw", "new.db cannot be opened", nil},
		{"read-only", "file:" + write("empty.db", "") + "?_pragma=query_only(1)", "empty.db cannot be written: it, or its folder, is read-only", nil},
		{"memory", "file::memory:", "is not on disk: use the package job/memory", nil},
		{"memory by mode", "sqlite:x?mode=memory", "is not on disk: use the package job/memory", nil},
		{"nothing", "sqlite:", `"sqlite:" names no file: write sqlite:jobs.db, or sqlite:///var/lib/jobs.db`, nil},
		{"nothing but a query", "sqlite:?mode=rw", `"sqlite:" names no file`, nil},
		{"parameter", "sqlite:jobs.db?nosuch=geheim", `"sqlite:jobs.db" has a parameter "nosuch": known are mode and _pragma`, nil},
		{"parameter of the driver", "sqlite:jobs.db?_txlock=deferred", `has a parameter "_txlock": known are`, nil},
		{"mode", "sqlite:jobs.db?mode=geheim", `"sqlite:jobs.db": mode is neither rw, for a file that exists, nor rwc, which also creates it`, nil},
		{"read-only mode", "sqlite:jobs.db?mode=ro", "mode is neither rw", nil},
		{"mode without a value", "sqlite:jobs.db?mode", "mode is neither rw", nil},
		{"two modes", "sqlite:jobs.db?mode=rw&mode=rwc", `"sqlite:jobs.db": mode is given twice`, nil},
		{"pragma", "sqlite:" + in("there.db") + "?_pragma=nosuch(1)", `SQLite has no pragma "nosuch": write one such as cache_size(-8192)`, nil},
		{"second pragma", "sqlite:" + in("there.db") + "?_pragma=cache_size(-100)&_pragma=main.nosuch%3D1", `SQLite has no pragma "nosuch"`, nil},
		{"no pragma", "sqlite:jobs.db?_pragma=", `"sqlite:jobs.db": a _pragma is not written as NAME(VALUE), such as _pragma=cache_size(-8192)`, nil},
		{"host", "sqlite://jobs.db", `names the host "jobs.db": write sqlite:jobs.db for a file in this folder`, nil},
		{"escape", "sqlite:%zz", "invalid URL escape", nil},
		{"URL of a server", "postgres://me:geheim@db/app", "use the package job/postgres", nil},
		{"keyword string", "host=db password=geheim", "a file of such a name is written sqlite:NAME", nil},
		{"quoted URL", `"postgres://me:geheim@db/app"`, "not even a quote", nil},
		{"user of a host", "sqlite://me:geheim@db/app", "user:password@", nil},
		{"escaped URL", "file:postgres%3A%2F%2Fme%3Ageheim%40db", "user:password@", nil},
		{"query", "sqlite:jobs.db?_pragma=geheim%", "invalid URL escape", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := sqlite.Open(t.Context(), tt.url)
			if err == nil {
				t.Fatal(errors.Join(errors.New("opened"), s.Close()))
			}
			if !strings.HasPrefix(err.Error(), "open SQLite store: ") || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %q, want one line with %q", err, tt.want)
			}
			if strings.Contains(err.Error(), "geheim") {
				t.Errorf("the error shows a password: %v", err)
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("got %v, want it to be %v", err, tt.is)
			}
		})
	}
}

func TestOpenURLs(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for url, path := range map[string]string{
		"plain.db":                         "plain.db",
		"sqlite:a.db":                      "a.db",
		"file:b.db?mode=rwc":               "b.db",
		"sqlite://" + dir + "/c.db":        "c.db",
		"file://localhost" + dir + "/d.db": "d.db",
		"sqlite:e.db?_pragma=Cache_Size%3D-100&_pragma=main.max_page_count(5000)": "e.db",
		"sqlite:with%20space%3f.db": "with space?.db",
		"what?.db":                  "what?.db",
		"100%.db":                   "100%.db",
	} {
		s := open(t, url)
		if _, err := s.Insert(t.Context(), newJob(t)); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(dir, path)); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	s, err := job.Open(t.Context(), "sqlite:a.db")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if counts, err := s.Counts(t.Context()); err != nil || len(counts) != 1 || counts[0].N != 1 {
		t.Errorf("counts %v, %v", counts, err)
	}
}

func TestBusy(t *testing.T) {
	testenv.LongTest(t)
	t.Parallel()
	s := open(t, migrated(t))
	tx, err := s.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := s.Insert(t.Context(), newJob(t)); err == nil || !strings.Contains(err.Error(), "stayed locked for 10s") {
		t.Errorf("got %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Insert(t.Context(), newJob(t)); err != nil {
		t.Errorf("after the lock was released: %v", err)
	}
}
