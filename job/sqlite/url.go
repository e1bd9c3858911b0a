package sqlite

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/meanwhile-go/meanwhile/internal/privatefile"
	"github.com/meanwhile-go/meanwhile/internal/storeurl"
)

// A place is the file of a store, and how to open it.
type place struct {
	path  string
	query url.Values // of the URL, for the driver
}

// parsePlace reads a path, or a URL like sqlite:jobs.db, sqlite:///var/lib/jobs.db or file:jobs.db?mode=rw. A text that is more
// likely the URL or the keyword string of a server is refused without being shown.
func parsePlace(address string) (place, error) {
	if scheme := storeurl.Scheme(address); scheme == "postgres" || scheme == "postgresql" {
		return place{}, errors.New("it is the URL or the keyword string of a PostgreSQL server: use the package job/postgres; a file of such a name is written sqlite:NAME")
	}
	rest, isURL := strings.CutPrefix(address, "sqlite:")
	if !isURL {
		rest, isURL = strings.CutPrefix(address, "file:")
	}
	if err := storeurl.CheckPath(rest); err != nil {
		return place{}, err
	}
	p, shown := place{path: rest}, storeurl.Redacted(address)
	if isURL {
		path, query, _ := strings.Cut(rest, "?")
		if after, ok := strings.CutPrefix(path, "//"); ok {
			host, _, _ := strings.Cut(after, "/")
			if host != "" && host != "localhost" {
				return place{}, fmt.Errorf("%q names the host %q: write sqlite:%s for a file in this folder", shown, host, after)
			}
			path = after[len(host):]
		}
		var err error
		if p.path, err = url.PathUnescape(path); err != nil {
			return place{}, fmt.Errorf("%q: %w", shown, err)
		}
		if p.query, err = url.ParseQuery(query); err != nil {
			return place{}, fmt.Errorf("%q: %w", shown, err)
		}
		if err := storeurl.CheckPath(p.path); err != nil {
			return place{}, err
		}
	}
	switch {
	case p.path == "":
		return place{}, fmt.Errorf("%q names no file: write sqlite:jobs.db, or sqlite:///var/lib/jobs.db", shown)
	case strings.HasPrefix(p.path, ":memory:"), p.query.Get("mode") == "memory":
		return place{}, fmt.Errorf("%q is not on disk: use the package job/memory for jobs that need not last", shown)
	}
	return p, checkQuery(shown, p.query)
}

// checkURL returns an error for a URL that Open would refuse, whatever the files are.
func checkURL(address string) error {
	_, err := parsePlace(address)
	return err
}

// pragmaPattern matches a pragma with the name of a database, as in main.cache_size(-8192). Its first group is the pragma's name.
var pragmaPattern = regexp.MustCompile(`^(?:\w+\.)?(\w+)(?:$|[ =(])`)

// checkQuery returns an error for a parameter that the store does not support; SQLite would ignore it. The error does not show values.
func checkQuery(shown string, query url.Values) error {
	for key, values := range query {
		switch key {
		case "mode":
			if len(values) > 1 {
				return fmt.Errorf("%q: mode is given twice", shown)
			}
			if values[0] != "rw" && values[0] != "rwc" {
				return fmt.Errorf("%q: mode is neither rw, for a file that exists, nor rwc, which also creates it", shown)
			}
		case "_pragma":
			for _, pragma := range values {
				if !pragmaPattern.MatchString(pragma) {
					return fmt.Errorf("%q: a _pragma is not written as NAME(VALUE), such as _pragma=cache_size(-8192)", shown)
				}
			}
		default:
			return fmt.Errorf("%q has a parameter %.40q: known are mode and _pragma", shown, key)
		}
	}
	return nil
}

// check returns errors that SQLite would report without their cause.
func (p place) check() error {
	if info, err := os.Stat(p.path); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder, not a file", p.path)
	}
	folder := filepath.Dir(p.path)
	info, err := os.Stat(folder)
	switch {
	case os.IsNotExist(err):
		return fmt.Errorf("the folder %s does not exist", folder)
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is a file, not a folder", folder)
	}
	return nil
}

// create creates the file at the path that SQLite would use, but accessible to its owner only.
func (p place) create() error {
	if mode := p.query.Get("mode"); mode != "" && mode != "rwc" {
		return nil
	}
	return privatefile.Create(p.path)
}

// source returns the name by which the driver opens the file, with pragmas for every connection. immediate is for transactions
// that will write.
func (p place) source(immediate bool, pragmas ...string) string {
	query := url.Values{}
	for key, values := range p.query {
		query[key] = values
	}
	// The pragma for the lock timeout comes first: the others may have to wait for a lock.
	query["_pragma"] = append([]string{fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds())}, append(pragmas, query["_pragma"]...)...)
	if immediate {
		query.Set("_txlock", "immediate")
	}
	name := (&url.URL{Path: p.path}).EscapedPath()
	return "file:" + name + "?" + query.Encode()
}
