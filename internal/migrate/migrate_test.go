package migrate_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/meanwhile-go/meanwhile/internal/migrate"
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
		{"gap", "migration 1 is missing", files("0002_a.up.sql", "x", "0002_a.down.sql", "x")},
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
	tests := []struct {
		current, target int
		want            []migrate.Step
	}{
		{0, 0, nil},
		{3, 3, nil},
		{0, 2, []migrate.Step{{1, "a", false, "u1"}, {2, "b", false, "u2"}}},
		{2, 3, []migrate.Step{{3, "c", false, "u3"}}},
		{3, 1, []migrate.Step{{2, "c", true, "d3"}, {1, "b", true, "d2"}}},
		{1, 0, []migrate.Step{{0, "a", true, "d1"}}},
	}
	for _, tt := range tests {
		got, err := migrate.Plan(three, tt.current, tt.target)
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("Plan from %d to %d = %v, %v; want %v", tt.current, tt.target, got, err, tt.want)
		}
	}
	if _, err := migrate.Plan(three, 4, 4); !errors.Is(err, migrate.ErrNewer) || !strings.Contains(err.Error(), "it has version 4, and this program knows up to 3") {
		t.Errorf("newer schema: got %v", err)
	}
	for _, target := range []int{-1, 4} {
		if _, err := migrate.Plan(three, 1, target); err == nil || errors.Is(err, migrate.ErrNewer) {
			t.Errorf("target %d: got %v", target, err)
		}
	}
	if _, err := migrate.Plan(three, -1, 1); err == nil {
		t.Error("current -1: got no error")
	}
}

func TestStepString(t *testing.T) {
	steps := []migrate.Step{{2, "b", false, "u2"}, {1, "b", true, "d2"}}
	for i, want := range []string{"migration 2, b, up", "migration 2, b, down"} {
		if got := steps[i].String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
