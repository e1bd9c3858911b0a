package browsertest

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// FillLogs stores log records of the programs of a scene for the last hour.
func (s Scene) FillLogs(ctx context.Context, store storage.Store) error {
	random := rand.New(rand.NewPCG(1, 2))
	now := time.Now().UTC()
	var records []logs.Record
	for i := range 900 {
		ago := time.Duration(900-i) * 4 * time.Second
		r := logs.Record{Time: now.Add(-ago - time.Duration(random.IntN(3000))*time.Millisecond), Service: "shop-api", Message: "request answered", Attrs: []slog.Attr{
			slog.String("http.path", fmt.Sprintf("/books/%d", 100+random.IntN(800))), slog.Int("http.status", 200), slog.Duration("took", time.Duration(2000+random.IntN(90000))*time.Microsecond),
		}}
		switch n := random.IntN(100); {
		case n < 3 || i > 600 && i < 640 && n < 50:
			r.Level, r.Message = slog.LevelError, "checkout failed: payment.example.net timed out"
			r.Attrs = []slog.Attr{slog.Int("http.status", 502), slog.Int("user", random.IntN(4000)), slog.String("token", "sk-3f9a77")}
		case n < 9:
			r.Level, r.Message = slog.LevelWarn, "slow query"
			r.Attrs = []slog.Attr{slog.String("table", "orders"), slog.Duration("took", time.Duration(600+random.IntN(3000))*time.Millisecond)}
		case n < 20:
			r.Service, r.Level, r.Message, r.Attrs = "shop-web", slog.LevelDebug, "page drawn", []slog.Attr{slog.String("page", "/cart")}
		}
		records = append(records, r)
	}
	job := s.Import.String()
	for i, message := range []string{"the feed is open", "a host answers slowly", "page read"} {
		records = append(records, logs.Record{
			Time: now.Add(time.Duration(i-3) * time.Second), Service: "shop-worker", Level: slog.Level(i % 2 * 4), Message: message,
			Task: "worker/feed.import " + job + "/eu.example.com", Job: job,
			Attrs: []slog.Attr{slog.String("job.kind", "feed.import"), slog.Int("job.attempt", 1), slog.String("shop", "books")},
		})
	}
	for i := range records {
		if err := Log(ctx, store, records[i]); err != nil {
			return err
		}
	}
	return nil
}

// Log stores a record.
func Log(ctx context.Context, store storage.Store, r logs.Record) error {
	b, v := logs.Batch{Service: r.Service}, r.View()
	b.Add(&v)
	return store.Append(ctx, &b)
}
