// Package migrate reads numbered migrations and plans which of them to run. It does not run them: that differs between databases.
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

// ErrNewer is the error of Plan for a schema that was migrated by a newer program.
var ErrNewer = errors.New("the schema is newer than this program")

// Load reads the migrations in the top folder of fsys: for each version, counted from 1 without gaps, a file
// NNNN_name.up.sql and a file NNNN_name.down.sql. Files that do not end in .sql are left out.
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
	slices.SortFunc(found, func(a, b Migration) int { return a.Version - b.Version })
	for i, m := range found {
		switch {
		case m.Version != i+1:
			return nil, fmt.Errorf("migration %d is missing", i+1)
		case m.Up == "" || m.Down == "":
			return nil, fmt.Errorf("migration %d, %s, lacks its up or its down file, or it is empty", m.Version, m.Name)
		}
	}
	return found, nil
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

// ReadableFrom returns the oldest version whose programs work with the tables of a version.
func ReadableFrom(migrations []Migration, version int) int {
	if version < 1 || version > len(migrations) {
		return version
	}
	return migrations[version-1].ReadableFrom
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
