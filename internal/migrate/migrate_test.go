package migrate_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/meanwhile-go/meanwhile/internal/migrate"
	"github.com/meanwhile-go/meanwhile/job"
)

func files(pairs ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		fsys[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return fsys
}

func TestLoad(t *testing.T) {
	got, err := migrate.Load(files("0002_more.up.sql", "u2", "0002_more.down.sql", "d2", "0001_first.down.sql", "d1", "0001_first.up.sql", "u1", "README.md", "no"))
	if err != nil {
		t.Fatal(err)
	}
	want := []migrate.Migration{{1, "first", "u1", "d1", 1}, {2, "more", "u2", "d2", 2}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestReadableFrom(t *testing.T) {
	all, err := migrate.Load(files("0001_a.up.sql", "x", "0001_a.down.sql", "x", "0002_b.up.sql", "-- readable from 1\nx", "0002_b.down.sql", "x"))
	if err != nil {
		t.Fatal(err)
	}
	for version, want := range []int{0, 1, 1} {
		if got := migrate.ReadableFrom(all, version); got != want {
			t.Errorf("version %d is readable from %d, want %d", version, got, want)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	tests := []struct {
		name, want string
		files      fstest.MapFS
	}{
		{"nothing", "there are no migrations", files("README.md", "x")},
		{"gap", "migration 3 is missing", files("0002_a.up.sql", "x", "0002_a.down.sql", "x", "0004_b.up.sql", "x", "0004_b.down.sql", "x")},
		{"no down", "migration 1, a, lacks its up or its down file", files("0001_a.up.sql", "x")},
		{"empty up", "lacks its up or its down file, or it is empty", files("0001_a.up.sql", "", "0001_a.down.sql", "x")},
		{"two names", "migration 1 has two names, a and b", files("0001_a.up.sql", "x", "0001_b.down.sql", "x")},
		{"no direction", "ends neither in .up.sql nor in .down.sql", files("0001_a.sql", "x")},
		{"no number", "is not named like 0001_name.up.sql", files("first_a.up.sql", "x")},
		{"zero", "is not named like 0001_name.up.sql", files("0000_a.up.sql", "x")},
		{"readable from later", `it says that it is readable from "2"`, files("0001_a.up.sql", "-- readable from 2\nx", "0001_a.down.sql", "x")},
		{"no name", "is not named like 0001_name.up.sql", files("0001.up.sql", "x")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := migrate.Load(tt.files); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestPlan(t *testing.T) {
	three := []migrate.Migration{{1, "a", "u1", "d1", 1}, {2, "b", "u2", "d2", 1}, {3, "c", "u3", "d3", 3}}
	late := []migrate.Migration{{31, "a", "u31", "d31", 31}, {32, "b", "u32", "d32", 31}}
	tests := []struct {
		migrations      []migrate.Migration
		current, target int
		want            []migrate.Step
	}{
		{three, 0, 0, nil},
		{three, 3, 3, nil},
		{three, 0, 2, []migrate.Step{{1, 1, "a", false, "u1"}, {2, 2, "b", false, "u2"}}},
		{three, 2, 3, []migrate.Step{{3, 3, "c", false, "u3"}}},
		{three, 3, 1, []migrate.Step{{2, 3, "c", true, "d3"}, {1, 2, "b", true, "d2"}}},
		{three, 1, 0, []migrate.Step{{0, 1, "a", true, "d1"}}},
		{late, 0, 32, []migrate.Step{{31, 31, "a", false, "u31"}, {32, 32, "b", false, "u32"}}},
		{late, 31, 32, []migrate.Step{{32, 32, "b", false, "u32"}}},
		{late, 32, 0, []migrate.Step{{31, 32, "b", true, "d32"}, {0, 31, "a", true, "d31"}}},
	}
	for _, tt := range tests {
		got, err := migrate.Plan(tt.migrations, tt.current, tt.target)
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("Plan from %d to %d = %v, %v; want %v", tt.current, tt.target, got, err, tt.want)
		}
	}
}

func TestPlanErrors(t *testing.T) {
	late := []migrate.Migration{{31, "a", "u31", "d31", 31}, {32, "b", "u32", "d32", 31}}
	for _, tt := range []struct {
		current, target int
		is              error
		want            string
	}{
		{33, 33, job.ErrSchema, "it has version 33, and this program knows up to 32"},
		{30, 32, job.ErrSchema, "it has version 30, from before the first release, and this program can migrate from version 31 on"},
		{30, 0, job.ErrSchema, "it has version 30"},
		{-1, 32, nil, "version -1, which never existed"},
		{32, 30, nil, "there is no schema version 30: use 31 to 32, or 0, which removes everything"},
		{32, -1, nil, "there is no schema version -1"},
		{32, 33, nil, "there is no schema version 33"},
	} {
		_, err := migrate.Plan(late, tt.current, tt.target)
		if err == nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, job.ErrSchema) != (tt.is != nil) {
			t.Errorf("Plan from %d to %d: %v, want %q", tt.current, tt.target, err, tt.want)
		}
	}
}

func TestCheck(t *testing.T) {
	late := []migrate.Migration{{31, "a", "u31", "d31", 31}, {32, "b", "u32", "d32", 31}}
	for _, tt := range []struct {
		version, readableFrom int
		want                  string
	}{
		{30, 30, "it has version 30, from before the first release"},
		{31, 31, "it has version 31, and 32 is needed: migrate it (meanwhile jobs migrate)"},
		{32, 31, ""},
		{40, 32, ""},
		{40, 33, "it has version 40, which programs that know version 33 can use, and this one knows up to 32: update it"},
	} {
		err := migrate.Check(late, tt.version, tt.readableFrom)
		if tt.want == "" && err != nil || tt.want != "" && (!errors.Is(err, job.ErrSchema) || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("Check(%d, %d) = %v, want %q", tt.version, tt.readableFrom, err, tt.want)
		}
	}
}

func TestStepString(t *testing.T) {
	steps := []migrate.Step{{2, 2, "b", false, "u2"}, {0, 31, "b", true, "d31"}}
	for i, want := range []string{"migration 2, b, up", "migration 31, b, down"} {
		if got := steps[i].String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
