package fetch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/interrupt"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/terminal"
)

const (
	mostLimits = 20
	mostRounds = 100
	mostRead   = 64 << 20 // bytes of standard input, which is kept for all runs
	alike      = 1.1      // times whose ratio is smaller count as the same
	fewRounds  = 3
)

// A comparison fetches the same URLs with several limits, in several rounds.
type comparison struct {
	command   *Command
	streams   Streams
	transport http.RoundTripper // nil: the transport of the command
	input     []byte            // standard input, if it is used
	variants  []*variant
	rounds    int // complete rounds
	notURLs   int // lines of the input that are not URLs
}

// A variant is a limit and its results.
type variant struct {
	limit  limit
	last   int             // the limit at the end
	took   []time.Duration // of each round
	done   int
	failed int
	times  *hdrhistogram.Histogram
}

func (l limit) String() string {
	if l.auto {
		return "auto"
	}
	return strconv.Itoa(l.n)
}

// checkCompare reports flags that are invalid for a comparison.
func (c *Command) checkCompare() error {
	switch {
	case len(c.Compare) == 0:
		return nil
	case len(c.Compare) < 2 || len(c.Compare) > mostLimits:
		return fmt.Errorf("--compare: give from 2 to %d limits, such as 1,8,64,auto", mostLimits)
	case c.Out != "":
		return errors.New("--compare and --out: choose one, --compare fetches each URL several times and saves no bodies")
	case c.Rounds < 1 || c.Rounds > mostRounds:
		return fmt.Errorf("--rounds %d: give from 1 to %d", c.Rounds, mostRounds)
	}
	for i, l := range c.Compare {
		if slices.Contains(c.Compare[:i], l) {
			return fmt.Errorf("--compare: %v is given twice", l)
		}
	}
	return nil
}

// newComparison returns the comparison. It reports all errors of the command line.
func newComparison(c *Command, streams Streams) (*comparison, error) {
	all := &comparison{command: c, streams: streams}
	r, err := c.open(streams)
	if err != nil {
		return nil, err
	}
	r.close()
	if c.From == "-" || c.From == "" && len(c.URLs) == 0 {
		all.input, err = io.ReadAll(io.LimitReader(streams.In, mostRead+1))
		if err != nil {
			return nil, fmt.Errorf("read URLs: %w", err)
		}
		if len(all.input) > mostRead {
			return nil, fmt.Errorf("standard input is longer than %d MiB: write it to a file, and give that with --from", mostRead>>20)
		}
	}
	for _, l := range c.Compare {
		all.variants = append(all.variants, &variant{limit: l, times: hdrhistogram.New(1, longestTime.Microseconds(), 3)})
	}
	return all, nil
}

// compare runs the comparison, and prints the table of complete rounds.
func (c *Command) compare(streams Streams) error {
	all, err := newComparison(c, streams)
	if err != nil {
		return &UsageError{err}
	}
	err = interrupt.Run("compare", all.run)
	if errors.Is(err, interrupt.Err) {
		err = ErrInterrupted
	}
	if err == nil && all.failed() {
		err = ErrFailed
	}
	return errors.Join(err, all.print())
}

// failed reports whether any request failed.
func (c *comparison) failed() bool {
	return slices.ContainsFunc(c.variants, func(v *variant) bool { return v.failed > 0 })
}

// run runs the rounds. Each round starts with another limit, so that not always the same limit finds cold caches.
func (c *comparison) run(ctx context.Context) error {
	for round := range c.command.Rounds {
		ended := make([]*run, len(c.variants))
		took := make([]time.Duration, len(c.variants))
		for i := range c.variants {
			i = (round + i) % len(c.variants)
			r, err := c.runOne(ctx, c.variants[i].limit)
			if err != nil {
				if ctx.Err() != nil && c.rounds == 0 && !c.command.Silent {
					_, _ = fmt.Fprintln(c.streams.Err, "Interrupted in the first round: there is nothing to compare.")
				}
				return err
			}
			ended[i], took[i] = r, r.stats.figures().elapsed
			if !c.command.Silent && !c.command.NoProgress {
				_, _ = fmt.Fprintf(c.streams.Err, "round %d of %d, %v at once: %s\n", round+1, c.command.Rounds, c.variants[i].limit, terminalTime(took[i]))
			}
		}
		for i, v := range c.variants { // an interrupted round does not count
			f := ended[i].stats.figures()
			v.took = append(v.took, took[i])
			v.done, v.failed, v.last, c.notURLs = v.done+f.done, v.failed+f.failed, ended[i].limiter.Current(), f.notURLs
			v.times.Merge(ended[i].stats.times)
		}
		c.rounds++
	}
	return nil
}

// terminalTime formats a time as shortTime does, with characters that the terminal can show.
func terminalTime(d time.Duration) string {
	if text := shortTime(d); terminal.DrawsBlocks() {
		return text
	}
	return ascii(shortTime(d))
}

// runOne fetches everything once, with its own connections.
func (c *comparison) runOne(ctx context.Context, l limit) (*run, error) {
	command := *c.command
	command.Compare, command.Limit, command.Silent, command.NoProgress, command.JSON = nil, l, true, true, false
	r, err := command.open(Streams{In: bytes.NewReader(c.input), Out: io.Discard, Err: io.Discard})
	if err != nil {
		return nil, err
	}
	defer r.close()
	if c.transport != nil {
		r.fetcher.client.Transport = c.transport
	}
	err = r.do(func(run context.Context, stop context.CancelCauseFunc) {
		meanwhile.Go(run, func(run context.Context) error {
			select {
			case <-ctx.Done():
				stop(context.Cause(ctx))
			case <-run.Done():
			}
			return nil
		}, meanwhile.InBackground(), meanwhile.Name("interrupt"))
	})
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil && !errors.Is(err, ErrFailed):
		return nil, err
	}
	if f := r.stats.figures(); f.done+f.failed == 0 {
		return nil, &UsageError{errors.New("--compare: there is no URL to fetch")}
	}
	return r, nil
}

// median returns the median time of a round.
func (v *variant) median() time.Duration {
	took := slices.Clone(v.took)
	slices.Sort(took)
	n := len(took)
	return (took[(n-1)/2] + took[n/2]) / 2
}

// gain returns how many times as fast as first the variant is: the median, the minimum and the maximum of the rounds.
func (v *variant) gain(first *variant) (median, low, high float64) {
	gains := make([]float64, len(v.took))
	for i := range v.took {
		gains[i] = float64(first.took[i]) / float64(v.took[i])
	}
	slices.Sort(gains)
	n := len(gains)
	return (gains[(n-1)/2] + gains[n/2]) / 2, gains[0], gains[n-1]
}

func (v *variant) perSecond() float64 {
	return float64(v.done+v.failed) / float64(len(v.took)) / v.median().Seconds()
}

func (v *variant) percentile(p float64) time.Duration {
	return time.Duration(v.times.ValueAtPercentile(p)) * time.Microsecond
}

func (v *variant) failures() float64 { return float64(v.failed) / float64(v.done+v.failed) }

func (v *variant) name() string {
	if v.limit.auto {
		return fmt.Sprintf("auto (%s)", probe.Number(v.last))
	}
	return v.limit.String()
}

// print prints the table of complete rounds.
func (c *comparison) print() error {
	if c.rounds == 0 {
		return nil
	}
	if c.command.JSON {
		return c.printJSON()
	}
	text := c.table() + "\n" + strings.Join(c.advice(), "\n") + "\n"
	if !terminal.DrawsBlocks() {
		text = ascii(strings.ReplaceAll(text, "×", "x"))
	}
	_, err := io.WriteString(c.streams.Out, text)
	return err
}

func (c *comparison) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s %8s %9s %22s %8s %8s %7s\n", "at once", "took", "per s", "times as fast", "p50", "p99", "failed")
	for i, v := range c.variants {
		gain := "1"
		if i > 0 {
			median, low, high := v.gain(c.variants[0])
			gain = fmt.Sprintf("%s (%s to %s)", significant(median), significant(low), significant(high))
		}
		failed := "0 %"
		if v.failed > 0 {
			failed = strconv.FormatFloat(max(100*v.failures(), 0.1), 'f', 1, 64) + " %"
		}
		p50, p99 := "-", "-"
		if v.done > 0 {
			p50, p99 = shortTime(v.percentile(50)), shortTime(v.percentile(99))
		}
		fmt.Fprintf(&b, "%-12s %8s %9s %22s %8s %8s %7s\n", v.name(), shortTime(v.median()), significant(v.perSecond()), gain, p50, p99, failed)
	}
	return b.String()
}

// advice explains the table.
func (c *comparison) advice() (lines []string) {
	if !slices.ContainsFunc(c.variants, func(v *variant) bool { return v.done > 0 }) {
		return []string{"Every request failed, so there is nothing to compare: meanwhile fetch without --compare says why."}
	}
	// Failures may be quick, so variants that fail more than others do not count as faster.
	least := slices.MinFunc(c.variants, func(a, b *variant) int { return cmp.Compare(a.failures(), b.failures()) }).failures()
	sound := slices.DeleteFunc(slices.Clone(c.variants), func(v *variant) bool { return v.failures() > least+0.01 })
	best := slices.MinFunc(sound, func(a, b *variant) int { return cmp.Compare(a.median(), b.median()) })
	enough := best
	for _, v := range sound {
		if v.at() < enough.at() && float64(v.median()) <= alike*float64(best.median()) {
			enough = v
		}
	}
	for _, v := range c.variants {
		if slower := float64(v.median()) / float64(best.median()); v.at() > best.at() && slower > alike {
			lines = append(lines, fmt.Sprintf("More gets slower: %s at once takes %s times as long as %s.", v.name(), significant(slower), best.name()))
		}
		if v.failures() > enough.failures()+0.01 {
			lines = append(lines, fmt.Sprintf("With %s at once %.1f %% fail, with %s %.1f %%.", v.name(), 100*v.failures(), enough.name(), 100*enough.failures()))
		}
	}
	first := fmt.Sprintf("%s at once is enough: none of these is more than 10 %% faster.", enough.name())
	if !slices.ContainsFunc(c.variants, func(v *variant) bool { return v.at() > enough.at() }) {
		first = fmt.Sprintf("%s at once is the fastest of these; more may be faster still.", enough.name())
	}
	lines = append([]string{first}, lines...)
	if c.notURLs > 0 {
		lines = append(lines, fmt.Sprintf("%s of the input without a URL left out.", probe.Count(c.notURLs, "line")))
	}
	if c.rounds < fewRounds {
		lines = append(lines, fmt.Sprintf("Fewer than %d rounds: differences may be chance.", fewRounds))
	}
	return lines
}

// at returns the number of concurrent requests.
func (v *variant) at() int {
	if v.limit.auto {
		return v.last
	}
	return v.limit.n
}

// A comparedJSON is the JSON of a variant.
type comparedJSON struct {
	Limit     string     `json:"limit"`
	LimitEnd  int        `json:"limit_at_end"`
	Rounds    int        `json:"rounds"`
	Seconds   float64    `json:"seconds"`
	PerSecond float64    `json:"per_second"`
	Times     [3]float64 `json:"times_as_fast"` // median, minimum, maximum
	P50       float64    `json:"p50_ms"`
	P99       float64    `json:"p99_ms"`
	Done      int        `json:"done"`
	Failed    int        `json:"failed"`
}

func (c *comparison) printJSON() error {
	encoder := json.NewEncoder(c.streams.Out)
	for _, v := range c.variants {
		line := comparedJSON{
			Limit: v.limit.String(), LimitEnd: v.last, Rounds: c.rounds, Seconds: v.median().Seconds(), PerSecond: v.perSecond(),
			P50: v.percentile(50).Seconds() * 1000, P99: v.percentile(99).Seconds() * 1000, Done: v.done, Failed: v.failed,
		}
		line.Times[0], line.Times[1], line.Times[2] = v.gain(c.variants[0])
		if err := encoder.Encode(line); err != nil {
			return err
		}
	}
	return nil
}
