package settings

import (
	"fmt"
	"strings"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/internal/access"
)

// Users parses the users of --user, and those in the file of --user-file, one per line; empty lines and lines that start with #
// are ignored. Errors do not show the values, which may be passwords.
func Users(texts []string, file string) ([]access.User, error) {
	users, err := ParseAll[access.User](texts)
	if err != nil {
		return nil, fmt.Errorf("--user: %w", err)
	}
	if file == "" {
		return users, nil
	}
	text, err := readFile(file)
	if err != nil {
		return nil, fmt.Errorf("--user-file: %w", err)
	}
	before := len(users)
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		var u access.User
		if err := u.UnmarshalText([]byte(line)); err != nil {
			return nil, fmt.Errorf("--user-file: %s:%d: %w", probe.Printable(file), n, err)
		}
		users = append(users, u)
	}
	if len(users) == before {
		return nil, fmt.Errorf("--user-file: %s has no user: write each in a line, as NAME:ROLE:HASH", probe.Printable(file))
	}
	return users, nil
}
