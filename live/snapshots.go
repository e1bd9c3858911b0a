package live

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/internal/trees"
)

// snapshotEvery is how long a snapshot serves further requests; if the snapshot took longer, it serves them for that time
// instead. So no number of requests keeps a processor busy. Then it is dropped, since it keeps the tasks in memory.
const snapshotEvery = 100 * time.Millisecond

// A snapshotCache takes snapshots of the trees, and shares each among all requests that come while it is taken and shortly
// after (single-flight).
type snapshotCache struct {
	trees func() []inspect.Node

	mu     sync.Mutex
	latest *sharedSnapshot // nil when it is too old
}

type sharedSnapshot struct {
	over chan struct{} // closed when the snapshot has been taken
	seen *Snapshot     // set before over is closed; nil if taking it panicked
}

// snapshot returns a Snapshot with all trees. It is shared and must not be changed.
func (l *snapshotCache) snapshot(ctx context.Context) (*Snapshot, error) {
	for {
		l.mu.Lock()
		k := l.latest
		first := k == nil
		if first {
			k = &sharedSnapshot{over: make(chan struct{})}
			l.latest = k
		}
		l.mu.Unlock()
		if first {
			l.collect(k)
			return k.seen, nil
		}
		select {
		case <-k.over:
			if k.seen != nil {
				return k.seen, nil
			}
		case <-ctx.Done():
			return nil, refuse(http.StatusServiceUnavailable, "the request ended while the program was looking at its tasks: give it more time")
		}
	}
}

func (l *snapshotCache) collect(k *sharedSnapshot) {
	defer func() {
		if k.seen == nil {
			l.forget()
		} else {
			time.AfterFunc(max(snapshotEvery, k.seen.Took), l.forget)
		}
		close(k.over)
	}()
	s := &Snapshot{Program: program(), PID: os.Getpid(), Time: time.Now()}
	s.Goroutines, s.Threads = runtime.NumGoroutine(), threads()
	s.Trees = l.trees()
	s.Took = time.Since(s.Time)
	s.Tasks = trees.Count(s.Trees)
	k.seen = s
}

// forget makes the next request take a new snapshot. It is called once for each snapshot.
func (l *snapshotCache) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.latest = nil
}

func program() string {
	name, err := os.Executable()
	if err != nil {
		name = os.Args[0]
	}
	return filepath.Base(name)
}

func threads() int {
	sample := []metrics.Sample{{Name: "/sched/threads/total:threads"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int(sample[0].Value.Uint64())
}
