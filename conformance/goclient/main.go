// Goclient runs jobs with the Go client of Faktory, with the server of FAKTORY_URL, and prints what it observed as JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	faktory "github.com/contribsys/faktory/client"
	worker "github.com/contribsys/faktory_worker_go"
)

// A report is what the program prints.
type report struct {
	Done      int               `json:"done"`
	Failed    int               `json:"failed"`
	Twice     int               `json:"twice"`
	Wrong     map[string]string `json:"wrong"`
	Dead      float64           `json:"dead"`
	Percent   int               `json:"percent"`
	State     string            `json:"state"`
	Paused    bool              `json:"paused"`
	Killed    bool              `json:"killed"`
	NotUnique string            `json:"not_unique"`
}

func main() {
	r, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(r)
}

const jobs = 200

func run() (r report, err error) {
	client, err := faktory.Open()
	if err != nil {
		return r, fmt.Errorf("open: %w", err)
	}
	defer client.Close()
	var mu sync.Mutex
	seen := map[string]int{}
	var failed atomic.Int64
	m := worker.NewManager()
	m.Concurrency, m.Labels = 8, []string{"golang", "conformance"}
	m.ProcessStrictPriorityQueues("critical", "default")
	m.Register("count", func(ctx context.Context, args ...any) error {
		mu.Lock()
		defer mu.Unlock()
		seen[worker.HelperFor(ctx).Jid()]++
		return nil
	})
	m.Register("fail", func(context.Context, ...any) error {
		failed.Add(1)
		return errors.New("no")
	})
	m.Register("track", func(ctx context.Context, _ ...any) error {
		return worker.HelperFor(ctx).TrackProgress(42, "on its way", nil)
	})
	var bulk []*faktory.Job
	for i := range jobs {
		j := faktory.NewJob("count", i)
		if i%2 == 0 {
			if err := client.Push(j); err != nil {
				return r, fmt.Errorf("push: %w", err)
			}
			continue
		}
		j.Queue = "critical"
		bulk = append(bulk, j)
	}
	wrong, err := client.PushBulk(append(bulk, &faktory.Job{Jid: "x", Type: "count", Args: []any{}}))
	if err != nil {
		return r, fmt.Errorf("push in bulk: %w", err)
	}
	r.Wrong = wrong
	dead := faktory.NewJob("fail", 1)
	none := -1
	dead.Retry = &none
	tracked := faktory.NewJob("track", 1)
	later := faktory.NewJob("later", 1)
	later.At = time.Now().Add(time.Hour).UTC().Format(time.RFC3339Nano)
	for _, j := range []*faktory.Job{dead, tracked, later} {
		if err := client.Push(j); err != nil {
			return r, fmt.Errorf("push: %w", err)
		}
	}
	unique := faktory.NewJob("once", 1)
	unique.Queue = "other"
	unique.SetUniqueFor(60)
	if err := client.Push(unique); err != nil {
		return r, fmt.Errorf("push a unique job: %w", err)
	}
	again := faktory.NewJob("once", 1)
	again.Queue = "other"
	again.SetUniqueFor(60)
	if err := client.Push(again); err != nil {
		r.NotUnique = err.Error()
	}
	r.Killed = client.Kill(faktory.Scheduled, faktory.OfType("later")) == nil

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- m.RunWithContext(ctx) }()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		mu.Lock()
		n := len(seen)
		mu.Unlock()
		track, err := client.TrackGet(tracked.Jid)
		if err != nil {
			return r, fmt.Errorf("track: %w", err)
		}
		r.Percent, r.State = track.Percent, track.State
		if n == jobs && failed.Load() == 1 && track.State == "success" {
			break
		}
	}
	cancel()
	if err := <-ended; err != nil {
		return r, fmt.Errorf("run: %w", err)
	}
	r.Failed = int(failed.Load())
	for _, n := range seen {
		r.Done++
		if n > 1 {
			r.Twice++
		}
	}
	state, err := client.CurrentState()
	if err != nil {
		return r, fmt.Errorf("info: %w", err)
	}
	r.Dead = float64(state.Data.Sets["dead"])
	r.Paused = client.PauseQueues("critical") == nil && client.ResumeQueues("*") == nil
	return r, nil
}
