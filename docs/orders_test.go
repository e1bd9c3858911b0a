//go:build unix

package docs_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/live"
)

// whereTheTimeGoes runs a shop for a minute, in a bubble, and returns its wait profile: its twelve orders share one connection
// to the database.
func whereTheTimeGoes(t *testing.T) (text string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		db := sql.OpenDB(database{})
		defer db.Close()
		db.SetMaxOpenConns(1)
		api := meanwhile.NewSemaphore(10)
		err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
			inspect.Watch(ctx, inspect.WatchConfig{Log: slog.New(slog.DiscardHandler)})
			for range 12 {
				meanwhile.Go(ctx, func(ctx context.Context) error {
					for {
						if err := order(ctx, db, api); err != nil {
							return err
						}
					}
				}, meanwhile.Name("order"), meanwhile.InBackground())
			}
			if err := meanwhile.Sleep(ctx, 59*time.Second); err != nil {
				return err
			}
			r := httptest.NewRequest(http.MethodGet, "/debug/meanwhile?waits", nil)
			r.RemoteAddr, r.Host = "127.0.0.1:41234", "localhost:6060"
			w := httptest.NewRecorder()
			live.Handler(live.Config{}).ServeHTTP(w, r)
			text = w.Body.String()
			return nil
		}, meanwhile.Name("shop"))
		if err != nil {
			t.Error(err)
		}
	})
	return steady(text)
}

// order asks the database while it has its part of the api.
func order(ctx context.Context, db *sql.DB, api *meanwhile.Semaphore) error {
	if err := api.Acquire(ctx, 1); err != nil {
		return err
	}
	defer api.Release(1)
	_, err := db.ExecContext(ctx, "update stock")
	return err
}

// A database answers each statement after 20 ms.
type database struct{}

func (d database) Connect(context.Context) (driver.Conn, error) { return d, nil }
func (database) Driver() driver.Driver                          { return nil }
func (database) Prepare(string) (driver.Stmt, error)            { return nil, driver.ErrSkip }
func (database) Begin() (driver.Tx, error)                      { return nil, driver.ErrSkip }
func (database) Close() error                                   { return nil }

func (database) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	time.Sleep(20 * time.Millisecond)
	return driver.RowsAffected(1), nil
}
