package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
)

// An Order is the args of a job: a reference to look up, not the data itself.
type Order struct {
	Number int `json:"number"`
}

// Ship is the kind of the jobs.
var Ship = job.Define[Order]("order.ship")

// lease is short because this is a demonstration: it is how long other workers wait for a killed process.
const lease = time.Second

type shop struct {
	db    *sql.DB // the orders and the stock, in the same file
	store *sqlite.Store
}

// withShop opens the file, calls fn, and closes it.
func withShop(ctx context.Context, file string, fn func(*shop) error) error {
	store, err := sqlite.Open(ctx, file)
	if err != nil {
		return err
	}
	defer store.Close()
	_, err = store.DB().ExecContext(ctx, `
		CREATE TABLE IF NOT EXISTS orders (number INTEGER PRIMARY KEY);
		CREATE TABLE IF NOT EXISTS stock (shelf INTEGER PRIMARY KEY, parts INTEGER);
		INSERT INTO stock VALUES (1, 10) ON CONFLICT DO NOTHING;`)
	if err != nil {
		return fmt.Errorf("create the tables of the shop: %w", err)
	}
	return fn(&shop{store.DB(), store})
}

// order writes an order and its job in one transaction: either both are stored or neither.
func (s *shop) order(ctx context.Context, o Order, k kill) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES (?)", o.Number); err != nil {
		return err
	}
	if _, err := Ship.Enqueue(ctx, s.store.Tx(tx), o); err != nil {
		return err
	}
	k.here(beforeCommit)
	return tx.Commit()
}

// ship takes a part from the stock and completes its job in one transaction: both are done, or neither.
func (s *shop) ship(ctx context.Context, k kill, apart bool) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "UPDATE stock SET parts = parts - 1"); err != nil {
		return err
	}
	if !apart {
		if err := job.Complete(ctx, s.store.Tx(tx)); err != nil {
			return err
		}
	}
	k.here(beforeCommit)
	if err := tx.Commit(); err != nil {
		return err
	}
	k.here(afterCommit)
	return nil
}

// work ships an order if there is one to ship, also one from a killed process, for which it waits until the lease is over.
func (s *shop) work(ctx context.Context, k kill, apart bool) error {
	ctx, stop := context.WithTimeout(ctx, 4*lease)
	defer stop()
	observe := func(e job.Event) {
		if e.Kind == job.JobCompleted {
			stop()
		}
	}
	w := job.NewWorker(s.store, job.Config{Lease: lease, Observe: observe}, Ship.Handle(func(ctx context.Context, _ Order) error {
		return s.ship(ctx, k, apart)
	}))
	return w.Run(ctx)
}

// A kill names the place where the process is killed.
type kill string

const (
	beforeCommit kill = "before"
	afterCommit  kill = "after"
)

// here kills the process if this is the place. No deferred function runs, as when the power fails.
func (k kill) here(place kill) {
	if k != place {
		return
	}
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	meanwhile.Sleep(context.Background(), time.Minute) // until the signal is delivered
}
