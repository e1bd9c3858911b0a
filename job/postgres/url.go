package postgres

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/meanwhile-go/meanwhile/internal/storeurl"
)

// parseURL parses a URL or a keyword string of pgx, which may also name the schema. Its errors show no password.
func parseURL(text string) (*pgxpool.Config, string, error) {
	if err := storeurl.Check(text); err != nil {
		return nil, "", err
	}
	text = escapeValues(text)
	given, err := pgconn.ParseConfig(text) // ignores settings that are not for the connection
	if err != nil {
		return nil, "", redacted(text, err)
	}
	config, err := pgxpool.ParseConfig(text)
	if err != nil {
		return nil, "", redacted(text, err)
	}
	schema, named := given.RuntimeParams["schema"]
	if !named {
		schema = DefaultSchema
	}
	delete(config.ConnConfig.RuntimeParams, "schema")
	if _, sized := given.RuntimeParams["pool_max_conns"]; !sized {
		config.MaxConns = max(config.MaxConns, minConns)
	}
	if _, chosen := given.RuntimeParams["default_query_exec_mode"]; !chosen {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	return config, schema, nil
}

// checkURL returns an error for a URL that Open would refuse.
func checkURL(text string) error {
	_, schema, err := parseURL(text)
	if err != nil {
		return err
	}
	return checkSchemaName(schema)
}

// escapeValues escapes each = in the values of a URL's query, as in options=-c%20search_path=app: pgx requires it.
func escapeValues(text string) string {
	address, query, ok := strings.Cut(text, "?")
	if !ok || !strings.Contains(address, "://") {
		return text
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		pairs[i] = key + "=" + strings.ReplaceAll(value, "=", "%3D")
	}
	return address + "?" + strings.Join(pairs, "&")
}

// redacted returns an error of pgx without the password: pgx quotes the text that it cannot parse.
func redacted(text string, err error) error {
	if parse := new(pgconn.ParseConfigError); errors.As(err, &parse) {
		parse.ConnString = storeurl.Redacted(text)
	}
	return err
}

// checkSchemaName returns an error if a schema cannot have this name.
func checkSchemaName(name string) error {
	switch {
	case name == "" || len(name) > 63:
		return fmt.Errorf("the name of the schema has %d bytes: give from 1 to 63", len(name))
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("the name of the schema is not UTF-8 or has a control character in it: %q", name)
	case strings.Contains(name, "'") || strings.Contains(name, "$$"):
		// Statements have the name in texts and in bodies of functions, which these end.
		return fmt.Errorf("the name of the schema is %q: give one without ' and $$", name)
	case strings.HasPrefix(name, "pg_"):
		return fmt.Errorf("the name of the schema is %q: those that begin with pg_ belong to PostgreSQL", name)
	}
	return nil
}

// address returns the address of the server in a config.
func address(c *pgx.ConnConfig) string {
	if strings.HasPrefix(c.Host, "/") {
		return c.Host
	}
	return net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
}
