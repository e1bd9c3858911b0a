package fetch

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/interrupt"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/terminal"
	"github.com/meanwhile-go/meanwhile/retry"
)

// A run is one execution of the command.
type run struct {
	console console
	input   *input
	ledger  *ledger
	hosts   *hosts // nil for no limits per host
	fetcher *fetcher
	limiter *meanwhile.Limiter
	pacer   *meanwhile.Pacer // nil for no rate
	stats   *stats

	retry     retry.Policy
	retryTime time.Duration

	json, silent, showView bool
	blocks                 bool // the terminal shows block characters
}

// Run fetches. It returns nil, [ErrFailed], [ErrInterrupted], a [*UsageError], or the error that stopped it.
func (c *Command) Run(streams Streams) error {
	log.SetOutput(io.Discard) // net/http logs what servers send behind their responses, in the middle of the progress
	if len(c.Compare) > 0 {
		return c.compare(streams)
	}
	r, err := c.open(streams)
	if err != nil {
		return &UsageError{err}
	}
	defer r.close()
	return r.do(interrupt.Heed)
}

// open prepares the run. It reports all errors of the command line, before the first request.
func (c *Command) open(streams Streams) (*run, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	template, err := newTemplate(c)
	if err != nil {
		return nil, err
	}
	ledger := new(ledger)
	in, err := openInput(c, streams, ledger)
	if err != nil {
		return nil, err
	}
	var out *folder
	if c.Out != "" {
		if out, err = openFolder(string(c.Out), c.Overwrite); err != nil {
			in.close()
			return nil, err
		}
	}
	limiter, most := c.limiter()
	pacer := c.Rate.pacer()
	r := &run{
		console: console{results: streams.Out, notes: streams.Err}, input: in, ledger: ledger,
		hosts: newHosts(c.PerHost, c.PerHostRate), limiter: limiter, pacer: pacer,
		stats: newStats(),
		fetcher: &fetcher{
			template: template, client: newClient(c, most), folder: out,
			maxTime: time.Duration(c.MaxTime), maxBytes: int64(c.MaxBytes), retries: c.Retry,
		},
		retry:     retry.Policy{Attempts: c.Retry + 1, Base: time.Duration(c.RetryDelay), Max: max(time.Minute, time.Duration(c.RetryDelay)), MaxAfter: c.retryTime()},
		retryTime: c.retryTime(),
		json:      c.JSON, silent: c.Silent, blocks: terminal.DrawsBlocks(),
		showView: !c.Silent && !c.NoProgress && terminal.Is(streams.Err) && terminal.MovesCursor(),
	}
	return r, nil
}

func (r *run) close() {
	r.input.close()
	r.fetcher.folder.close()
	if t, ok := r.fetcher.client.Transport.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
}

// limiter returns the limit and its maximum.
func (c *Command) limiter() (l *meanwhile.Limiter, most int) {
	if c.Limit.auto {
		return meanwhile.AdaptiveLimit(c.Min, c.Max), c.Max
	}
	return meanwhile.Limit(c.Limit.n), c.Limit.n
}

// do fetches everything, and reports the outcome. heed gets a function that stops the work.
func (r *run) do(heed func(ctx context.Context, stop context.CancelCauseFunc)) error {
	var interrupted error
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		work, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		heed(ctx, func(cause error) {
			cancel(cause)
			// In its own task: a blocked terminal must not prevent the next signal from being handled.
			meanwhile.Go(ctx, func(context.Context) error {
				r.note("Stopping; once more exits immediately.")
				return nil
			}, meanwhile.Name("say"))
		})
		defer r.show(work)()
		err := r.fetchAll(work)
		interrupted = context.Cause(work)
		return err
	}, meanwhile.Name("fetch"))
	if err != nil {
		return err
	}
	return r.conclude(interrupted != nil)
}

// fetchAll fetches the whole input and reports each transfer when it ends.
func (r *run) fetchAll(ctx context.Context) error {
	transfers := r.input.transfers(ctx)
	if r.hosts != nil {
		transfers = r.hosts.stream(ctx, transfers)
	}
	options := []meanwhile.StreamOption{r.limiter, meanwhile.Unordered(), meanwhile.Name("transfers")}
	if r.retry.Attempts > 1 {
		options = append(options, meanwhile.Retry(r.retry), meanwhile.Timeout(r.retryTime))
	}
	if r.pacer != nil {
		options = append(options, r.pacer)
	}
	for t, err := range meanwhile.Map(ctx, transfers, r.fetcher.fetch, options...) {
		if ctx.Err() != nil {
			break
		}
		if err := r.yielded(t, err); err != nil {
			return err
		}
	}
	if ctx.Err() == nil {
		return nil
	}
	return r.takeEnded()
}

// yielded reports an item of the stream: a transfer, or an error.
func (r *run) yielded(t *transfer, err error) error {
	if item, ok := errors.AsType[*meanwhile.ItemError](err); ok {
		t = item.Input.(*transfer)
		if t.err == nil {
			t.err = item.Err // the transfer panicked
		}
	} else if err != nil {
		r.stats.addNotURL()
		r.console.note(err.Error())
		return nil
	}
	t.ended = true
	return r.report(t)
}

// takeEnded reports the transfers that had ended when the stream was interrupted, and that it did not yield.
func (r *run) takeEnded() error {
	for _, t := range r.ledger.rest() {
		if t.ended {
			if err := r.report(t); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *run) report(t *transfer) error {
	r.ledger.strike(t)
	r.fetcher.wait(t, false)
	if r.hosts != nil {
		r.hosts.leave(t)
	}
	r.stats.add(t)
	return r.print(t)
}

func (r *run) print(t *transfer) error {
	if r.json {
		return r.console.result(formatJSON(t))
	}
	return r.console.result(formatPlain(t))
}

// note prints a note unless --silent is set.
func (r *run) note(text string) {
	if !r.silent {
		r.console.note(text)
	}
}

// conclude prints the summary, and returns the command's error.
func (r *run) conclude(interrupted bool) error {
	f := r.stats.figures()
	if !r.silent {
		summarize(r.console.notes, f, r.stats.outcomes(), r.stats.spans(), r.blocks)
	}
	switch {
	case interrupted:
		return errors.Join(ErrInterrupted, r.tellRest(f))
	case f.failed+f.notURLs > 0:
		return ErrFailed
	}
	return nil
}

// tellRest prints what was not done.
func (r *run) tellRest(f figures) error {
	rest := r.ledger.rest()
	at, more := r.input.unread()
	if !r.silent {
		listRest(r.console.notes, f, rest, r.input)
	}
	if !r.json {
		return nil
	}
	for _, t := range rest {
		t.err = errNotDone
		if err := r.print(t); err != nil {
			return err
		}
	}
	if !more {
		return nil
	}
	return r.console.result(formatUnread(at))
}

// show shows the progress view until hide is called. Lines for the same terminal are written through it.
func (r *run) show(ctx context.Context) (hide func()) {
	if !r.showView {
		return func() {}
	}
	total := meanwhile.Async(ctx, func(ctx context.Context) (int, error) { return r.input.total(ctx), nil }, meanwhile.Name("total"))
	var m meter
	v := terminal.NewView(r.console.notes.(*os.File), func(width int) []string {
		p := progress{figures: r.stats.figures(), limit: r.limiter.Current()}
		p.running, p.retrying = r.fetcher.inFlight.count(), int(r.fetcher.retrying.Load())
		p.oldest = r.fetcher.inFlight.oldest(time.Now())
		select {
		case <-total.Done():
			p.total, _ = total.Wait(ctx)
		default:
		}
		p.rate = m.rate(time.Now(), p.ended())
		return p.lines(width, r.blocks)
	})
	r.console.view.Store(v)
	return func() {
		r.console.view.Store(nil)
		v.Close()
	}
}
