// Queries makes the database queries of a web page concurrently. The page needs four queries, 200 ms each and independent of each
// other. One handler makes them in sequence, another concurrently, with the same functions over database/sql.
//
// It requests the page from both and prints how long they took, and that the pages are equal; then it requests it once more,
// cancels after 100 ms, and prints how many queries still ran 50 ms later:
//
//	one after the other  0.81 s
//	at once              0.20 s
//	the same page: true
//	customers 3, orders 5, turnover 1780, best customer Ada
//	given up after 100 ms: 0 queries are left
//
// The database is a SQLite file in a temporary folder, which the program removes. A function registered with SQLite makes the
// queries slow.
package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"

	"github.com/meanwhile-go/meanwhile"
)

// slow is true after 200 ms, in 20 steps between which SQLite checks whether the query was canceled.
const slow = "(SELECT sum(pause()) FROM steps)"

func main() {
	if err := meanwhile.Run(context.Background(), run); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	shop, err := open(ctx)
	if err != nil {
		return err
	}
	defer shop.close()
	address, err := shop.serve(ctx)
	if err != nil {
		return err
	}

	first, err := get(ctx, "one after the other", address+"/sequential")
	if err != nil {
		return err
	}
	second, err := get(ctx, "at once", address+"/concurrent")
	if err != nil {
		return err
	}
	fmt.Println("the same page:", first == second)
	fmt.Println(first)

	err = meanwhile.Run(ctx, func(ctx context.Context) error {
		_, err := fetch(ctx, address+"/concurrent")
		return err
	}, meanwhile.Timeout(100*time.Millisecond))
	if err == nil {
		return fmt.Errorf("the page came in less than 100 ms")
	}
	if err := meanwhile.Sleep(ctx, 50*time.Millisecond); err != nil {
		return err
	}
	fmt.Println("given up after 100 ms:", shop.queries.Load(), "queries are left")
	return nil
}

// A page is what the browser receives.
type page struct {
	customers, orders, turnover int
	best                        string
}

func (p page) String() string {
	return fmt.Sprintf("customers %d, orders %d, turnover %d, best customer %s", p.customers, p.orders, p.turnover, p.best)
}

// sequential takes as long as the four queries together.
func (s *shop) sequential(ctx context.Context) (p page, err error) {
	if p.customers, err = query[int](ctx, s, "SELECT count(*) FROM customers WHERE "+slow); err != nil {
		return p, err
	}
	if p.orders, err = query[int](ctx, s, "SELECT count(*) FROM orders WHERE "+slow); err != nil {
		return p, err
	}
	if p.turnover, err = query[int](ctx, s, "SELECT sum(amount) FROM orders WHERE "+slow); err != nil {
		return p, err
	}
	p.best, err = query[string](ctx, s, best)
	return p, err
}

// concurrent takes as long as the slowest query. The first query that fails cancels the others, and so does the end of the
// request.
func (s *shop) concurrent(ctx context.Context) (p page, err error) {
	err = meanwhile.Run(ctx, func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) (err error) {
			p.customers, err = query[int](ctx, s, "SELECT count(*) FROM customers WHERE "+slow)
			return err
		})
		meanwhile.Go(ctx, func(ctx context.Context) (err error) {
			p.orders, err = query[int](ctx, s, "SELECT count(*) FROM orders WHERE "+slow)
			return err
		})
		meanwhile.Go(ctx, func(ctx context.Context) (err error) {
			p.turnover, err = query[int](ctx, s, "SELECT sum(amount) FROM orders WHERE "+slow)
			return err
		})
		p.best, err = query[string](ctx, s, best)
		return err
	})
	return p, err
}

const best = "SELECT name FROM customers JOIN orders ON customer = customers.id WHERE " + slow + `
	GROUP BY name ORDER BY sum(amount) DESC LIMIT 1`

// query returns the single value of a query's result. A *sql.DB is a pool: each concurrent query has its own connection.
func query[T any](ctx context.Context, s *shop, text string) (value T, err error) {
	s.queries.Add(1)
	defer s.queries.Add(-1)
	err = s.db.QueryRowContext(ctx, text).Scan(&value)
	return value, err
}

type shop struct {
	folder  string
	db      *sql.DB
	queries atomic.Int64 // number of running queries
}

func open(ctx context.Context) (*shop, error) {
	err := sqlite.RegisterScalarFunction("pause", 0, func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
		time.Sleep(10 * time.Millisecond)
		return int64(1), nil
	})
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "queries")
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", filepath.Join(folder, "shop.db"))
	if err != nil {
		return nil, err
	}
	s := &shop{folder: folder, db: db}
	_, err = db.ExecContext(ctx, `
		CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT);
		CREATE TABLE orders (customer INTEGER, amount INTEGER);
		CREATE TABLE steps AS WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM s WHERE n < 20) SELECT n FROM s;
		INSERT INTO customers VALUES (1, 'Ada'), (2, 'Grace'), (3, 'Edsger');
		INSERT INTO orders VALUES (1, 400), (1, 600), (2, 250), (3, 30), (2, 500);`)
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *shop) close() {
	if err := s.db.Close(); err != nil {
		log.Print(err)
	}
	if err := os.RemoveAll(s.folder); err != nil {
		log.Print(err)
	}
}

// serve serves until ctx's scope ends.
func (s *shop) serve(ctx context.Context) (address string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/sequential", answer(s.sequential))
	mux.HandleFunc("/concurrent", answer(s.concurrent))
	server := &http.Server{Handler: mux}
	meanwhile.Go(ctx, func(ctx context.Context) error {
		context.AfterFunc(ctx, func() { server.Close() })
		if err := server.Serve(listener); err != http.ErrServerClosed {
			return err
		}
		return nil
	}, meanwhile.InBackground(), meanwhile.Name("server"))
	return "http://" + listener.Addr().String(), nil
}

func answer(make func(context.Context) (page, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p, err := make(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, p)
	}
}

// get fetches a page and prints how long that took.
func get(ctx context.Context, what, url string) (string, error) {
	start := time.Now()
	body, err := fetch(ctx, url)
	if err == nil {
		fmt.Printf("%-20s %.2f s\n", what, time.Since(start).Seconds())
	}
	return body, err
}

func fetch(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("get %s: %s: %s", url, response.Status, body)
	}
	return string(body), err
}
