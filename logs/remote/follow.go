package remote

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// The shortest and the longest wait of a follow before it connects again.
const (
	shortestWait = 200 * time.Millisecond
	longestWait  = 5 * time.Second
)

// Follow yields new records as the server stores them; see [storage.Finder]. When it loses the connection, it connects again, without a limit
// of attempts, and continues after the last record of each service that it has received, so that it misses only records that the server has
// deleted in the meantime. It ends with an error if the first connection fails or the server refuses the request, or with the cause of ctx.
func (c *Client) Follow(ctx context.Context, q storage.Query) meanwhile.Stream[logs.Record] {
	return func(yield func(logs.Record, error) bool) {
		f := &follow{client: c, query: q, yield: yield}
		for wait := shortestWait; ; wait = min(2*wait, longestWait) {
			connected, err := f.once(ctx)
			if f.left {
				return
			}
			if refused, ok := errors.AsType[*refusal](err); ctx.Err() != nil {
				err = context.Cause(ctx)
			} else if !f.began || ok && refused.status/100 == 4 && refused.status != http.StatusTooManyRequests {
				err = c.failed("follow records", err)
			} else {
				if connected {
					wait = shortestWait
				}
				c.config.Lost(c.failed("follow records", err))
				if err = meanwhile.Sleep(ctx, wait); err == nil {
					continue
				}
			}
			yield(logs.Record{}, err)
			return
		}
	}
}

type follow struct {
	client *Client
	query  storage.Query
	yield  func(logs.Record, error) bool
	began  bool // whether it was connected once, so that After is complete
	left   bool // whether the caller has stopped the loop
}

// once follows until the connection ends.
func (f *follow) once(ctx context.Context) (connected bool, err error) {
	v := encode(f.query)
	if f.began {
		v.Set("resume", "1")
	}
	for l, err := range f.client.lines(ctx, "follow", v) {
		switch {
		case err != nil:
			return connected, err
		case l.After != nil:
			connected, f.began = true, true
			f.query.After = l.After
		case !connected:
			return false, errors.New("the answer does not say where it begins")
		case l.Missed != "":
			f.left = !f.yield(logs.Record{}, &storage.MissedError{Reason: l.Missed})
		case l.record != nil:
			f.query.After[l.record.Service] = max(f.query.After[l.record.Service], l.record.Number)
			f.left = !f.yield(*l.record, nil)
		default:
			return true, errors.New("the answer makes no sense")
		}
		if f.left {
			return true, nil
		}
	}
	return connected, errCut
}
