//go:build !meanwhile_fewcases

package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/meanwhile-go/meanwhile"
)

func init() {
	know(
		stuckCase{name: "sql-pool", start: sqlPool, want: []want{
			{path: "waiter", wait: "database pool", at: "sql-pool"},
			{path: "conn", wait: "database pool", at: "sql-conn"},
		}},
		stuckCase{name: "sql-rows", start: sqlRows, want: []want{{path: "waiter", wait: "network", on: "read", at: "sql-rows"}}},
		stuckCase{name: "sql-connect", start: sqlConnect, want: []want{{path: "waiter", wait: "receive", at: "sql-connect"}}},
		stuckCase{name: "sql-lock", start: sqlLock, want: []want{
			{path: "first", wait: "receive", at: "sql-lock-held"},
			{path: "second", wait: "mutex", at: "sql-lock"},
		}},
		stuckCase{name: "pgx-pool", start: pgxPool, want: []want{
			{path: "waiter", wait: "database pool", at: "pgx-pool"},
		}},
		stuckCase{name: "pgx-query", start: pgxQuery, want: []want{
			{path: "waiter", wait: "network", on: "read", at: "pgx-query"},
		}},
		stuckCase{name: "pgx-slow", start: pgxSlow, want: []want{
			{path: "waiter", wait: "network", on: "read", at: "pgx-slow"},
		}},
		stuckCase{name: "pgx-connect", start: pgxConnect, want: []want{
			{path: "waiter", wait: "database pool", on: "new resource", at: "pgx-connect"},
		}},
	)
}

// A database answers a query with rows that it reads from conn.
type database struct{ conn net.Conn }

func (d database) Connect(context.Context) (driver.Conn, error) { return d, nil }
func (d database) Driver() driver.Driver                        { return nil }
func (d database) Prepare(string) (driver.Stmt, error)          { return d, nil }
func (d database) Begin() (driver.Tx, error)                    { return nil, errors.New("no transactions") }
func (d database) Close() error                                 { return nil }
func (d database) NumInput() int                                { return 0 }
func (d database) Exec([]driver.Value) (driver.Result, error) {
	return nil, errors.New("nothing to execute")
}
func (d database) Query([]driver.Value) (driver.Rows, error) { return d, nil }
func (d database) Columns() []string                         { return []string{"one"} }

func (d database) Next([]driver.Value) error {
	_, err := io.ReadFull(d.conn, make([]byte, 1)) // stuck: sql-rows
	return err
}

// sqlPool asks for a connection beyond the last one.
func sqlPool(ctx context.Context) error {
	db := sql.OpenDB(database{})
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	hold(conn)
	meanwhile.Go(ctx, func(ctx context.Context) error {
		rows, err := db.QueryContext(ctx, "SELECT 1") // stuck: sql-pool
		hold(rows)
		return err
	}, meanwhile.Name("waiter"))
	meanwhile.Go(ctx, func(ctx context.Context) error {
		conn, err := db.Conn(ctx) // stuck: sql-conn
		hold(conn)
		return err
	}, meanwhile.Name("conn"))
	return nil
}

// A slowDone is a ctx whose Done never returns. Package database/sql calls Done while it holds a lock of the pool.
type slowDone struct {
	context.Context
	begun, never chan struct{}
}

func (d slowDone) Done() <-chan struct{} {
	close(d.begun)
	<-d.never // stuck: sql-lock-held
	return nil
}

// sqlLock has two tasks ask for a connection. The second does not wait for a connection, but for the lock that the first holds.
func sqlLock(ctx context.Context) error {
	db := sql.OpenDB(database{})
	slow := slowDone{ctx, make(chan struct{}), make(chan struct{})}
	meanwhile.Go(ctx, func(context.Context) error { return db.PingContext(slow) }, meanwhile.Name("first"))
	<-slow.begun
	meanwhile.Go(ctx, func(ctx context.Context) error {
		return db.PingContext(ctx) // stuck: sql-lock
	}, meanwhile.Name("second"))
	return nil
}

// sqlRows has a database that does not send the next row.
func sqlRows(ctx context.Context) error {
	l, err := silent("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return err
	}
	rows, err := sql.OpenDB(database{conn}).QueryContext(ctx, "SELECT 1")
	if err != nil {
		return err
	}
	meanwhile.Go(ctx, func(context.Context) error {
		for rows.Next() {
		}
		return rows.Err()
	}, meanwhile.Name("waiter"))
	return nil
}

// An unreachable database never connects.
type unreachable struct{ database }

func (unreachable) Connect(ctx context.Context) (driver.Conn, error) {
	<-ctx.Done() // stuck: sql-connect
	return nil, context.Cause(ctx)
}

func sqlConnect(ctx context.Context) error {
	db := sql.OpenDB(unreachable{})
	meanwhile.Go(ctx, func(ctx context.Context) error { return db.PingContext(ctx) }, meanwhile.Name("waiter"))
	return nil
}

// postgres starts a server that accepts every user and never answers a query.
func postgres() (address string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			hold(conn)
			server := pgproto3.NewBackend(conn, conn)
			if _, err := server.ReceiveStartupMessage(); err != nil {
				return
			}
			server.Send(new(pgproto3.AuthenticationOk))
			server.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
			if err := server.Flush(); err != nil {
				return
			}
		}
	}()
	return l.Addr().String(), nil
}

// newPool returns a pool of one connection.
func newPool(ctx context.Context, address string) (*pgxpool.Pool, error) {
	pool, err := pgxpool.New(ctx, "postgres://stuck@"+address+"/stuck?sslmode=disable&pool_max_conns=1")
	hold(pool)
	return pool, err
}

func pgxPool(ctx context.Context) error {
	address, err := postgres()
	if err != nil {
		return err
	}
	pool, err := newPool(ctx, address)
	if err != nil {
		return err
	}
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	hold(conn)
	meanwhile.Go(ctx, func(ctx context.Context) error {
		_, err := pool.Exec(ctx, "SELECT 1") // stuck: pgx-pool
		return err
	}, meanwhile.Name("waiter"))
	return nil
}

func pgxQuery(ctx context.Context) error {
	address, err := postgres()
	if err != nil {
		return err
	}
	pool, err := newPool(ctx, address)
	if err != nil {
		return err
	}
	conn, err := pool.Acquire(ctx) // so that the query does not wait for the pool to connect first
	if err != nil {
		return err
	}
	conn.Release()
	meanwhile.Go(ctx, func(ctx context.Context) error {
		_, err := pool.Exec(ctx, "SELECT 1") // stuck: pgx-query
		return err
	}, meanwhile.Name("waiter"))
	return nil
}

// A slowConn, once it is slow, blocks writes until somebody reads from it.
type slowConn struct {
	net.Conn
	slow atomic.Bool
	once sync.Once
	read chan struct{}
}

func (c *slowConn) Read(p []byte) (int, error) {
	if c.slow.Load() {
		c.once.Do(func() { close(c.read) })
	}
	return c.Conn.Read(p)
}

func (c *slowConn) Write(p []byte) (int, error) {
	if c.slow.Load() {
		<-c.read
	}
	return c.Conn.Write(p)
}

// pgxSlow has a query that took so long to write that pgx started to read the answer in the background.
func pgxSlow(ctx context.Context) error {
	address, err := postgres()
	if err != nil {
		return err
	}
	config, err := pgx.ParseConfig("postgres://stuck@" + address + "/stuck?sslmode=disable")
	if err != nil {
		return err
	}
	slow := &slowConn{read: make(chan struct{})}
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		var err error
		slow.Conn, err = new(net.Dialer).DialContext(ctx, network, address)
		return slow, err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	slow.slow.Store(true)
	meanwhile.Go(ctx, func(ctx context.Context) error {
		_, err := conn.Exec(ctx, "SELECT 1") // stuck: pgx-slow
		return err
	}, meanwhile.Name("waiter"))
	return nil
}

// pgxConnect has a server that accepts connections and never answers.
func pgxConnect(ctx context.Context) error {
	l, err := silent("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	pool, err := newPool(ctx, l.Addr().String())
	if err != nil {
		return err
	}
	meanwhile.Go(ctx, func(ctx context.Context) error {
		_, err := pool.Exec(ctx, "SELECT 1") // stuck: pgx-connect
		return err
	}, meanwhile.Name("waiter"))
	return nil
}
