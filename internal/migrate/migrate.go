// Package migrate reads the numbered migrations of a store of jobs, plans which of them to run, and checks the version of a schema. It does not run them:
// that differs between databases.
package migrate

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// A Migration leads the schema from the previous version to Version, and back.
type Migration struct {
	Version  int
	Name     string
	Up, Down string // SQL
	// ReadableFrom is the oldest version whose programs work with the tables as they are after Up. It is Version, unless the first
	// line of Up says "-- readable from N".
	ReadableFrom int
}

// Load reads the migrations in the top folder of fsys: for each version, without gaps, a file NNNN_name.up.sql and a file NNNN_name.down.sql. The
// first migration may have a number above 1: then it creates the whole schema of its version, and earlier versions are not supported. Files that do not
// end in .sql are left out.
func Load(fsys fs.FS) ([]Migration, error) {
	files, err := fs.Glob(fsys, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("find migrations: %w", err)
	}
	var found []Migration
	for _, file := range files {
		version, name, up, err := parseName(file)
		if err != nil {
			return nil, err
		}
		text, err := fs.ReadFile(fsys, file)
		if err != nil {
			return nil, fmt.Errorf("read migration: %w", err)
		}
		i := slices.IndexFunc(found, func(m Migration) bool { return m.Version == version })
		if i < 0 {
			i = len(found)
			found = append(found, Migration{Version: version, Name: name})
		}
		m := &found[i]
		if m.Name != name {
			return nil, fmt.Errorf("migration %d has two names, %s and %s", version, m.Name, name)
		}
		if up {
			m.Up = string(text)
			if m.ReadableFrom, err = readableFrom(version, m.Up); err != nil {
				return nil, fmt.Errorf("migration file %s: %w", file, err)
			}
		} else {
			m.Down = string(text)
		}
	}
	if len(found) == 0 {
		return nil, errors.New("there are no migrations")
	}
	slices.SortFunc(found, func(a, b Migration) int { return a.Version - b.Version })
	for i, m := range found {
		switch want := found[0].Version + i; {
		case m.Version != want:
			return nil, fmt.Errorf("migration %d is missing", want)
		case m.Up == "" || m.Down == "":
			return nil, fmt.Errorf("migration %d, %s, lacks its up or its down file, or it is empty", m.Version, m.Name)
		}
	}
	return found, nil
}

// MustLoad is Load for the folder migrations of files that are part of the program. It panics if they are wrong.
func MustLoad(files fs.FS) []Migration {
	folder, err := fs.Sub(files, "migrations")
	if err != nil {
		panic(err)
	}
	all, err := Load(folder)
	if err != nil {
		panic(err)
	}
	return all
}

// readableFrom reads the first line of a migration.
func readableFrom(version int, up string) (int, error) {
	first, _, _ := strings.Cut(up, "\n")
	number, found := strings.CutPrefix(strings.TrimSpace(first), "-- readable from ")
	if !found {
		return version, nil
	}
	from, err := strconv.Atoi(number)
	if err != nil || from < 1 || from > version {
		return 0, fmt.Errorf("it says that it is readable from %q: give a version from 1 to %d", number, version)
	}
	return from, nil
}

func parseName(file string) (version int, name string, up bool, err error) {
	base, up := strings.CutSuffix(file, ".up.sql")
	if !up {
		var down bool
		if base, down = strings.CutSuffix(file, ".down.sql"); !down {
			return 0, "", false, fmt.Errorf("migration file %s ends neither in .up.sql nor in .down.sql", file)
		}
	}
	number, name, _ := strings.Cut(base, "_")
	version, err = strconv.Atoi(number)
	if err != nil || version < 1 || name == "" {
		return 0, "", false, fmt.Errorf("migration file %s is not named like 0001_name.up.sql", file)
	}
	return version, name, up, nil
}
