package postgres_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/meanwhile-go/meanwhile/job/postgres"
)

// TestSettingsOfTheDatabase: settings under which statements would fail or do something else are refused, by Migrate as well, with what to change. It
// may be changed for the connections of the store alone.
func TestSettingsOfTheDatabase(t *testing.T) {
	for _, test := range []struct{ name, value, needed, inURL string }{
		{"default_transaction_isolation", "repeatable read", "read committed", "read%20committed"},
		{"default_transaction_isolation", "serializable", "read committed", "read%20committed"},
		{"standard_conforming_strings", "off", "on", "on"},
	} {
		t.Run(test.value, func(t *testing.T) {
			url := database(t, server())
			config, err := pgxpool.ParseConfig(url)
			if err != nil {
				t.Fatal(err)
			}
			execSQL(t, connect(t, url), "alter database "+pgx.Identifier{config.ConnConfig.Database}.Sanitize()+" set "+test.name+" = '"+test.value+"'")

			s, err := postgres.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			refused := func(what string, err error) {
				t.Helper()
				want := "the connections have " + test.name + " = '" + test.value + "', and the store needs '" + test.needed + "': add " + test.name + "=" + test.inURL + " to the URL"
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v, want %s", what, err, want)
				}
			}
			refused("migrate", s.Migrate(t.Context()))
			refused("ping", s.Ping(t.Context()))

			good := open(t, url+"?"+test.name+"="+test.inURL)
			if _, err := good.Insert(t.Context(), newJob(t)); err != nil {
				t.Fatal(err)
			}
			if jobs := claim(t, good, 1); len(jobs) != 1 {
				t.Errorf("claimed %d jobs", len(jobs))
			}
			_, err = s.Insert(t.Context(), newJob(t))
			refused("insert", err)

			config.ConnConfig.RuntimeParams[test.name] = test.needed
			pool, err := pgxpool.NewWithConfig(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			own, err := postgres.New(t.Context(), pool)
			if err != nil {
				t.Fatal(err)
			}
			defer own.Close()
			if err := own.Migrate(t.Context()); err != nil {
				t.Errorf("with a pool of the caller's: %v", err)
			}
		})
	}
}
