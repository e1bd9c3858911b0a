// Package storeurl parses the address of a store: a URL, a libpq keyword string such as "host=db dbname=app", or the path of a SQLite file. It
// refuses a text that can be read in more than one way: a part of the password could be taken for a host or a database, and be shown in errors. It
// formats addresses without the password.
package storeurl

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// hidden replaces a password, as in [net/url.URL.Redacted].
const hidden = "xxxxx"

var (
	schemePattern  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+:`) // two letters at least: C:\jobs.db is a path
	keywordPattern = regexp.MustCompile(`^\s*[A-Za-z_][A-Za-z0-9_]*\s*=`)

	passwordPattern = regexp.MustCompile(`(?i)password\s*=`)
)

// Scheme returns the scheme of a URL, "postgres" for a keyword string, and "" for a path.
func Scheme(text string) string {
	if isKeywords(text) {
		return "postgres"
	}
	return strings.TrimSuffix(schemePattern.FindString(text), ":")
}

// isKeywords reports whether a text starts with KEYWORD=. A file with such a name must be given as sqlite:NAME.
func isKeywords(text string) bool { return keywordPattern.MatchString(text) }

// isFile reports whether a text is the name of a file, by its scheme or because it has none.
func isFile(text string) bool {
	scheme := Scheme(text)
	return scheme == "" || scheme == "sqlite" || scheme == "file"
}

// Check returns an error if a text cannot be the address of a store. The error shows no part of the text.
func Check(text string) error {
	switch {
	case isKeywords(text):
		_, err := parseKeywords(text)
		return err
	case isFile(text):
		return CheckPath(strings.TrimPrefix(text, schemePattern.FindString(text)))
	}
	_, err := parseServer(text)
	return err
}

// Redacted returns a text without its password and its query, which may contain one, too. If [Check] refuses the text, it returns the scheme only.
func Redacted(text string) string {
	switch {
	case isKeywords(text):
		if settings, err := parseKeywords(text); err == nil {
			return redactKeywords(settings)
		}
		return "postgres:" + hidden
	case isFile(text):
		scheme := schemePattern.FindString(text)
		path := text[len(scheme):]
		if CheckPath(path) != nil {
			return scheme + hidden
		}
		if scheme != "" {
			path, _, _ = strings.Cut(path, "?")
		}
		return scheme + path
	}
	if s, err := parseServer(text); err == nil {
		return s.String()
	}
	scheme := Scheme(text) + ":"
	if text == scheme {
		return scheme
	}
	if strings.HasPrefix(text, scheme+"//") {
		scheme += "//"
	}
	return scheme + hidden
}

var errPath = errors.New("it has the form of the path of a SQLite file, with ://, user:password@ or password= in it: " +
	"the URL of a server begins with its scheme, and nothing stands before that, not even a quote or a space")

// CheckPath returns an error for the path of a file, with a query or without, that looks like a URL with a password.
func CheckPath(path string) error {
	rest := strings.TrimPrefix(path, "//")
	rest = rest[len(filepath.VolumeName(strings.TrimPrefix(rest, "/"))):]
	if at := strings.LastIndexByte(rest, '@'); strings.Contains(rest, "://") || at >= 0 && strings.Contains(rest[:at], ":") || passwordPattern.MatchString(rest) {
		return errPath
	}
	return nil
}

// checkSetting returns an error for a host or a database that is itself a URL or a keyword string.
func checkSetting(key, value string) error {
	switch key {
	case "host":
		if strings.Contains(value, "@") {
			return errors.New("the host has an @ in it: the user and the password are no part of it")
		}
	case "dbname", "database":
		if strings.Contains(value, "://") || isKeywords(value) {
			return fmt.Errorf("the %s is a URL or a keyword string itself: give the name of the database", key)
		}
	}
	return nil
}
