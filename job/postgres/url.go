package postgres

import (
	"errors"
	"fmt"
	"net"
	neturl "net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// parseURL reads a URL of pgx that may name the schema as well. Its errors show no password.
func parseURL(url string) (*pgxpool.Config, string, error) {
	u, err := neturl.Parse(url)
	if err != nil {
		if wrong := new(neturl.Error); errors.As(err, &wrong) {
			err = wrong.Err // without the URL itself
		}
		return nil, "", fmt.Errorf("read the URL of PostgreSQL: %w", err)
	}
	values := u.Query()
	schema := DefaultSchema
	if values.Has("schema") {
		schema = values.Get("schema")
		values.Del("schema")
	}
	sized := values.Has("pool_max_conns")
	u.RawQuery = values.Encode()
	config, err := pgxpool.ParseConfig(u.String())
	if err != nil {
		return nil, "", fmt.Errorf("read the URL of PostgreSQL: %w", err)
	}
	if !sized {
		config.MaxConns = max(config.MaxConns, minConns)
	}
	if !values.Has("default_query_exec_mode") {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	return config, schema, nil
}

// checkSchemaName returns what is wrong with the name of a schema.
func checkSchemaName(name string) error {
	switch {
	case name == "" || len(name) > 63:
		return fmt.Errorf("the name of the schema has %d bytes: give from 1 to 63", len(name))
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("the name of the schema is not UTF-8 or has a control character in it: %q", name)
	case strings.HasPrefix(name, "pg_"):
		return fmt.Errorf("the name of the schema is %q: those that begin with pg_ belong to PostgreSQL", name)
	}
	return nil
}

// address names the server of a config.
func address(c *pgx.ConnConfig) string {
	if strings.HasPrefix(c.Host, "/") {
		return c.Host
	}
	return net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
}
