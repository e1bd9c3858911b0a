package jobtest

import (
	"errors"
	"slices"
	"strconv"

	"github.com/meanwhile-go/meanwhile/job"
)

var orderPromises = []promise{
	{"orders are told once, to their worker, in order", func(f *fixture) {
		f.renew("a", long)
		f.renew("b", long)
		want := []job.Order{
			{Do: job.OrderCancelTask, Job: f.insertNew().ID, Task: "268435455"},
			{Do: job.OrderQuiet},
			{Do: job.OrderTick, Cron: "näh\"\\\n"},
			{Do: job.OrderStop},
			{Do: "from the future"},
		}
		for _, o := range want {
			f.order("a", o)
		}
		f.order("b", job.Order{Do: job.OrderResume})
		if got := f.renew("b", long).Orders; !slices.Equal(got, []job.Order{{Do: job.OrderResume}}) {
			f.Errorf("b was told %+v", got)
		}
		if got := f.renew("a", long).Orders; !slices.Equal(got, want) {
			f.Errorf("a was told %+v, want %+v", got, want)
		}
		for _, worker := range []string{"a", "b"} {
			if got := f.renew(worker, long).Orders; len(got) != 0 {
				f.Errorf("%s was told %+v again", worker, got)
			}
		}
	}},
	{"there are no orders for a worker that is not listed", func(f *fixture) {
		refused := func() {
			f.Helper()
			if err := f.Order(f.ctx, "w", job.Order{Do: job.OrderStop}); !errors.Is(err, job.ErrNoWorker) {
				f.Errorf("order: %v, want ErrNoWorker", err)
			}
		}
		refused()
		f.renew("w", long)
		f.order("w", job.Order{Do: job.OrderStop})
		if err := f.Leave(f.ctx, "w", sessionOf("w")); err != nil {
			f.Fatalf("leave: %v", err)
		}
		refused()
		if got := f.renew("w", long).Orders; len(got) != 0 {
			f.Errorf("orders outlived the leave of their worker: %+v", got)
		}
	}},
	{"a hundred orders wait for a worker at most", func(f *fixture) {
		f.renew("w", long)
		f.renew("other", long)
		for range 2 { // there is room again when they were fetched
			var want []job.Order
			for i := range 100 {
				want = append(want, job.Order{Do: job.OrderTick, Cron: strconv.Itoa(i)})
				f.order("w", want[i])
			}
			if err := f.Order(f.ctx, "w", job.Order{Do: job.OrderStop}); err == nil || errors.Is(err, job.ErrNoWorker) {
				f.Errorf("one order too many: %v, want an error", err)
			}
			f.order("other", job.Order{Do: job.OrderQuiet})
			if got := f.renew("w", long).Orders; !slices.Equal(got, want) {
				f.Errorf("told %d orders, want the first 100", len(got))
			}
		}
	}},
}

func (f *fixture) order(worker string, o job.Order) {
	f.Helper()
	if err := f.Order(f.ctx, worker, o); err != nil {
		f.Fatalf("order to %s: %v", worker, err)
	}
}
