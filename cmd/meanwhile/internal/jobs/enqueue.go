package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/interrupt"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/when"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/httprequest"
)

// Enqueue is "meanwhile jobs enqueue".
type Enqueue struct {
	Kind string `arg:"" help:"Kind of the job, such as ${httprequest}."`
	Args string `arg:"" optional:"" help:"Its args, as JSON (default null)."`
	From string `placeholder:"FILE" help:"Enqueue a job for each line of this file; the line is its args. - is standard input. Empty lines are skipped."`

	Queue        string            `placeholder:"NAME" group:"Job options" help:"Enqueue to this queue (default that of the kind)."`
	Priority     *int              `placeholder:"N" group:"Job options" help:"From 1 to 9; 9 is run first (default 5)."`
	MaxAttempts  *int              `placeholder:"N" group:"Job options" help:"Maximum number of attempts (default 20)."`
	In           when.Span         `placeholder:"TIME" group:"Job options" help:"Due after this long, as in 90s, 2h or 7d."`
	At           when.Moment       `placeholder:"TIME" group:"Job options" help:"Due at this time, such as \"2026-01-31 15:04\"."`
	Unique       string            `placeholder:"KEY" group:"Job options" help:"Only if no unfinished job of the kind has this key."`
	UniqueArgs   bool              `group:"Job options" help:"Only if no unfinished job of the kind has the same args; then enqueueing a file twice adds no duplicates."`
	UniqueFields []string          `placeholder:"NAME" group:"Job options" help:"Like --unique-args, but compare only these fields of the args."`
	UniqueFor    when.Span         `placeholder:"TIME" group:"Job options" help:"Keep the key unique for this long, even if the job finishes earlier."`
	UniqueWhile  []job.State       `placeholder:"STATE" group:"Job options" help:"Only a job with the key in one of these states counts (default queued,running); with queued, one more job is enqueued while another runs."`
	Replace      bool              `group:"Job options" help:"If a queued job has the key, give it the args and the time of this one."`
	Debounce     string            `placeholder:"KEY" group:"Job options" help:"If a queued job has this key, give it the args of this one, due --in from now, but no later than --within after its creation. Give both."`
	Within       when.Span         `placeholder:"TIME" group:"Job options" help:"See --debounce."`
	Timeout      time.Duration     `placeholder:"TIME" group:"Job options" help:"Timeout of each attempt, as in 90s or 2h (default that of the kind)."`
	LimitKey     string            `placeholder:"KEY" group:"Job options" help:"Limit key of the job, such as a customer, if its queue has limits for each key."`
	Cost         int               `placeholder:"N" group:"Job options" help:"Units that the job is expected to use, if its queue has a limit on units."`
	Webhook      string            `placeholder:"URL" group:"Job options" help:"POST the outcome to this URL when a worker has finished the job. It is kept in the meta of the job."`
	Meta         map[string]string `mapsep:"none" placeholder:"KEY=VALUE" group:"Job options" help:"Metadata of the job, such as tenant=7, to find it by. Repeatable, up to 32."`
}

// Help is the text above the flags.
func (*Enqueue) Help() string {
	return `Prints the ID of the job, or of the existing job with its unique key; for a file, how many were enqueued.

A file of any length is validated as a whole before its first job is enqueued. A pipe cannot be: the jobs before an invalid
line are enqueued, and the error reports how many.

Jobs of any kind can be enqueued; they wait for a worker of their queue that has a handler. The args of http.request,
which "meanwhile work" runs, are validated:
  {"method":"POST", "url":"https://…", "headers":{"Name":"value"},
   "json":{…} or "body":"text", "expect":[200,"300-399"], "timeout":"30s"}
All fields but the URL are optional.`
}

// Run enqueues the jobs.
func (e *Enqueue) Run(c *Command, streams probe.Streams) error {
	options, err := e.options()
	if err != nil {
		return err
	}
	if e.From != "" {
		return e.enqueueAll(c, streams, options)
	}
	args := e.Args
	if args == "" {
		args = "null"
	}
	j, err := NewJob(e.Kind, json.RawMessage(args), options...)
	if err != nil {
		return &probe.UsageError{Err: err}
	}
	return c.use(true, func(ctx context.Context, s job.Store) error {
		done, err := job.Insert(ctx, s, j)
		if err != nil {
			return err
		}
		if c.JSON {
			return writeJSON(streams.Out, struct {
				ID        job.ID `json:"id"`
				Duplicate bool   `json:"duplicate"`
			}{done[0].ID, done[0].Duplicate})
		}
		fmt.Fprintln(streams.Out, done[0].ID)
		if done[0].Duplicate {
			fmt.Fprintln(streams.Err, "Not enqueued: "+e.holder())
		}
		return nil
	})
}

// holder describes the job that holds the unique key.
func (e *Enqueue) holder() string {
	switch {
	case e.Debounce != "":
		return "this queued job has the key, and now the args of the new one."
	case e.Replace:
		return "this job holds the unique key. If it is still queued, it now has the args and the time of the new one."
	}
	return "this job holds the unique key."
}

// options returns the options for the flags. Its errors are usage errors.
func (e *Enqueue) options() ([]job.EnqueueOption, error) {
	var options []job.EnqueueOption
	keys := 0
	for _, given := range []bool{e.Unique != "", e.UniqueArgs, len(e.UniqueFields) > 0} {
		if given {
			keys++
		}
	}
	switch {
	case e.From != "" && e.Args != "":
		return nil, usage("args and --from: choose one")
	case e.In > 0 && !e.At.IsZero():
		return nil, usage("--in and --at: choose one")
	case keys > 1:
		return nil, usage("--unique, --unique-args and --unique-fields: choose one")
	case e.From != "" && e.Unique != "":
		return nil, usage("--unique and --from: the jobs would have the same key; take --unique-args")
	case e.Debounce == "" && e.Within > 0:
		return nil, usage("--within: it is for --debounce")
	case e.Debounce != "" && (keys > 0 || len(e.UniqueWhile) > 0 || e.Replace || e.From != "" || !e.At.IsZero()):
		return nil, usage("--debounce says what is unique, and when it is due: leave the flags of that, --at and --from out")
	case e.Debounce != "" && (e.In <= 0 || e.Within < e.In):
		return nil, usage("--debounce: give --in and --within with it, and --within no shorter than --in")
	case keys > 0 || e.Debounce != "":
	case e.UniqueFor > 0:
		return nil, usage("--unique-for: say what is unique, with --unique, --unique-args or --unique-fields")
	case len(e.UniqueWhile) > 0:
		return nil, usage("--unique-while: say what is unique, with --unique, --unique-args or --unique-fields")
	case e.Replace:
		return nil, usage("--replace: say what is unique, with --unique, --unique-args or --unique-fields")
	}
	if e.Queue != "" {
		options = append(options, job.Queue(e.Queue))
	}
	if e.Priority != nil {
		options = append(options, job.Priority(*e.Priority))
	}
	if e.MaxAttempts != nil {
		options = append(options, job.MaxAttempts(*e.MaxAttempts))
	}
	if e.Debounce != "" {
		options = append(options, job.Debounce(e.Debounce, time.Duration(e.In), time.Duration(e.Within)))
	} else if e.In > 0 {
		options = append(options, job.In(time.Duration(e.In)))
	}
	if !e.At.IsZero() {
		options = append(options, job.At(e.At.Time))
	}
	if e.Unique != "" {
		options = append(options, job.Unique(e.Unique))
	}
	if e.UniqueArgs || len(e.UniqueFields) > 0 {
		options = append(options, job.UniqueArgs(e.UniqueFields...))
	}
	if e.UniqueFor > 0 {
		options = append(options, job.UniqueFor(time.Duration(e.UniqueFor)))
	}
	if len(e.UniqueWhile) > 0 {
		options = append(options, job.UniqueWhile(e.UniqueWhile...))
	}
	if e.Replace {
		options = append(options, job.Replace())
	}
	if e.Timeout != 0 {
		options = append(options, job.Timeout(e.Timeout))
	}
	if e.LimitKey != "" {
		options = append(options, job.LimitKey(e.LimitKey))
	}
	if e.Cost != 0 {
		options = append(options, job.Cost(e.Cost))
	}
	for key, value := range e.Meta {
		options = append(options, job.Meta(key, value))
	}
	if e.Webhook != "" {
		options = append(options, job.Webhook(e.Webhook))
	}
	return options, nil
}

// NewJob creates a job. If the kind is one that this program knows, its args are checked.
func NewJob(kind string, args json.RawMessage, options ...job.EnqueueOption) (*job.Job, error) {
	if kind != httprequest.Kind.Name() {
		return job.New(kind, args, options...)
	}
	request, err := httprequest.ParseArgs(args)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	return httprequest.Kind.New(request, options...)
}

// enqueueAll enqueues a job for each line of the file. If the file can be read twice, all lines are checked first.
func (e *Enqueue) enqueueAll(c *Command, streams probe.Streams, options []job.EnqueueOption) error {
	in, err := openInput(e.From, streams.In)
	if err != nil {
		return err
	}
	defer in.close()
	var done job.Bulk
	err = interrupt.Run("jobs", func(ctx context.Context) error {
		if err := in.check(ctx, e.Kind, options); err != nil {
			return err
		}
		return c.with(ctx, true, func(ctx context.Context, s job.Store) error {
			// Only the reading of lines is interrupted, so the lines up to the last one that was read are enqueued unless the store fails.
			if done, err = job.EnqueueAll(context.WithoutCancel(ctx), s, in.jobs(ctx, e.Kind, options)); err != nil {
				return fmt.Errorf("%w; %s before that were enqueued", err, probe.Count(done.Enqueued, "job"))
			}
			return ctx.Err()
		})
	})
	if errors.Is(err, interrupt.Err) {
		text := fmt.Sprintf("Interrupted: %s enqueued", probe.Count(done.Enqueued, "job"))
		if done != (job.Bulk{}) {
			text += fmt.Sprintf(", those up to %s:%d", in.name, in.last)
		}
		fmt.Fprintln(streams.Err, text)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(streams.Out, struct {
			Enqueued   int `json:"enqueued"`
			Duplicates int `json:"duplicates"`
		}{done.Enqueued, done.Duplicates})
	}
	text := probe.Count(done.Enqueued, "job") + " enqueued"
	if done.Duplicates > 0 {
		text += ", " + probe.Count(done.Duplicates, "duplicate") + " left out"
	}
	fmt.Fprintln(streams.Out, text)
	return nil
}

// check reads the whole input, if it can be read again, and returns the error of its first invalid line.
func (in *input) check(ctx context.Context, kind string, options []job.EnqueueOption) error {
	if !in.again {
		return nil
	}
	for _, err := range in.jobs(ctx, kind, options) {
		if err != nil {
			return fmt.Errorf("%w; nothing was enqueued", err)
		}
	}
	return in.rewind()
}

// jobs yields a job for each line. It ends at the first invalid line, and when ctx is canceled.
func (in *input) jobs(ctx context.Context, kind string, options []job.EnqueueOption) meanwhile.Stream[*job.Job] {
	return func(yield func(*job.Job, error) bool) {
		for line, err := range in.lines(ctx) {
			var j *job.Job
			if err == nil {
				err = ctx.Err()
			}
			if err == nil {
				j, err = NewJob(kind, json.RawMessage(line.text), options...)
			}
			if err != nil {
				yield(nil, fmt.Errorf("%s:%d: %w", in.name, line.number, err))
				return
			}
			in.last = line.number
			if !yield(j, nil) {
				return
			}
		}
	}
}
