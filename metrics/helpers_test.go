package metrics_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/metrics"
)

var errRefused = errors.New("refused")

type note struct {
	Text string `json:"text"`
}

// handle returns the handler of a kind, whose attempts take a given time.
func handle(kind *job.Kind[note], took time.Duration, result error) job.Handler {
	return kind.Handle(func(ctx context.Context, _ note) error {
		if err := meanwhile.Sleep(ctx, took); err != nil {
			return err
		}
		return result
	})
}

func enqueue(t *testing.T, store job.Store, kind *job.Kind[note], opts ...job.EnqueueOption) job.ID {
	t.Helper()
	done, err := kind.Enqueue(t.Context(), store, note{"hello"}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return done.ID
}

// work runs a worker of a collector, until the function that it returns is called.
func work(t *testing.T, m *metrics.Collector, store job.Store, config job.Config, handlers ...job.Handler) (stop func()) {
	t.Helper()
	config.Observe, config.Logger = m.Observe, slog.New(slog.DiscardHandler)
	worker := job.NewWorker(store, config, handlers...)
	m.Watch(worker)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// gather returns the value of each metric by its name and labels, in a form such as meanwhile_jobs{kind="mail",queue="default"};
// of a histogram the count and the sum.
func gather(t *testing.T, m prometheus.Collector) map[string]float64 {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(m)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		for _, one := range f.GetMetric() {
			var labels []string
			for _, l := range one.GetLabel() {
				labels = append(labels, l.GetName()+`="`+l.GetValue()+`"`)
			}
			suffix := ""
			if len(labels) > 0 {
				suffix = "{" + strings.Join(labels, ",") + "}"
			}
			if h := one.GetHistogram(); h != nil {
				values[f.GetName()+"_count"+suffix] = float64(h.GetSampleCount())
				values[f.GetName()+"_sum"+suffix] = h.GetSampleSum()
				continue
			}
			values[f.GetName()+suffix] = one.GetCounter().GetValue() + one.GetGauge().GetValue()
		}
	}
	return values
}

// want compares some of the values.
func want(t *testing.T, got, want map[string]float64) {
	t.Helper()
	for name, value := range want {
		if g, ok := got[name]; !ok || g != value {
			t.Errorf("%s is %v (there: %v), want %v", name, g, ok, value)
		}
	}
}

// absent checks that there is nothing with these names, whatever the labels.
func absent(t *testing.T, got map[string]float64, names ...string) {
	t.Helper()
	for full, value := range got {
		name, _, _ := strings.Cut(full, "{")
		for _, n := range names {
			if name == n {
				t.Errorf("%s is %v, want none", full, value)
			}
		}
	}
}

// A troubled store counts the queries, and answers them as its mode says.
type troubled struct {
	job.Store
	asked atomic.Int64
	mode  atomic.Int32
}

const (
	answers   = iota
	refuses   // immediately
	waits     // until the deadline
	stalls    // for an hour, whatever the deadline
	stallTime = time.Hour
)

func (s *troubled) delay(ctx context.Context) error {
	switch s.mode.Load() {
	case refuses:
		return errRefused
	case waits:
		<-ctx.Done()
		return context.Cause(ctx)
	case stalls:
		time.Sleep(stallTime)
	}
	return nil
}

func (s *troubled) Counts(ctx context.Context) ([]job.Count, error) {
	s.asked.Add(1)
	if err := s.delay(ctx); err != nil {
		return nil, err
	}
	return s.Store.Counts(ctx)
}

func (s *troubled) Claim(ctx context.Context, c job.Claim) (job.Claimed, error) {
	if err := s.delay(ctx); err != nil {
		return job.Claimed{}, err
	}
	return s.Store.Claim(ctx, c)
}

func (s *troubled) Renew(ctx context.Context, r job.Renewal) (job.Renewed, error) {
	if err := s.delay(ctx); err != nil {
		return job.Renewed{}, err
	}
	return s.Store.Renew(ctx, r)
}
