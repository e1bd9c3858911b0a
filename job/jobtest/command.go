package jobtest

import (
	"errors"
	"slices"
	"strconv"

	"github.com/meanwhile-go/meanwhile/job"
)

var orderPromises = []promise{
	{"commands are sent once, to their worker, in order", func(f *fixture) {
		f.renew("a", long)
		f.renew("b", long)
		want := []job.Command{
			{Do: job.CommandCancelTask, Job: f.insertNew().ID, Task: "268435455"},
			{Do: job.CommandQuiet},
			{Do: job.CommandTick, Cron: "näh\"\\\n"},
			{Do: job.CommandStop},
			{Do: "from the future"},
		}
		for _, o := range want {
			f.command("a", o)
		}
		f.command("b", job.Command{Do: job.CommandResume})
		if got := f.renew("b", long).Commands; !slices.Equal(got, []job.Command{{Do: job.CommandResume}}) {
			f.Errorf("b was sent %+v", got)
		}
		if got := f.renew("a", long).Commands; !slices.Equal(got, want) {
			f.Errorf("a was sent %+v, want %+v", got, want)
		}
		for _, worker := range []string{"a", "b"} {
			if got := f.renew(worker, long).Commands; len(got) != 0 {
				f.Errorf("%s was sent %+v again", worker, got)
			}
		}
	}},
	{"there are no commands for a worker that is not listed", func(f *fixture) {
		refused := func() {
			f.Helper()
			if err := f.SendCommand(f.ctx, "w", job.Command{Do: job.CommandStop}); !errors.Is(err, job.ErrNoWorker) {
				f.Errorf("command: %v, want ErrNoWorker", err)
			}
		}
		refused()
		f.renew("w", long)
		f.command("w", job.Command{Do: job.CommandStop})
		if err := f.Leave(f.ctx, "w", sessionOf("w")); err != nil {
			f.Fatalf("leave: %v", err)
		}
		refused()
		if got := f.renew("w", long).Commands; len(got) != 0 {
			f.Errorf("commands outlived the leave of their worker: %+v", got)
		}
	}},
	{"a hundred commands wait for a worker at most", func(f *fixture) {
		f.renew("w", long)
		f.renew("other", long)
		for range 2 { // after they were fetched, there is capacity again
			var want []job.Command
			for i := range 100 {
				want = append(want, job.Command{Do: job.CommandTick, Cron: strconv.Itoa(i)})
				f.command("w", want[i])
			}
			if err := f.SendCommand(f.ctx, "w", job.Command{Do: job.CommandStop}); err == nil || errors.Is(err, job.ErrNoWorker) {
				f.Errorf("one command too many: %v, want an error", err)
			}
			f.command("other", job.Command{Do: job.CommandQuiet})
			if got := f.renew("w", long).Commands; !slices.Equal(got, want) {
				f.Errorf("sent %d commands, want the first 100", len(got))
			}
		}
	}},
}

func (f *fixture) command(worker string, o job.Command) {
	f.Helper()
	if err := f.SendCommand(f.ctx, worker, o); err != nil {
		f.Fatalf("command to %s: %v", worker, err)
	}
}
