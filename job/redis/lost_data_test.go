package redis_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/redis"
)

// TestServerLosesItsData empties a server while a program uses a store on it. Whichever call comes first, the program continues, and other programs can
// open the store.
func TestServerLosesItsData(t *testing.T) {
	server := ownServer(t)
	url := "redis://" + server.address()
	s := open(t, url)
	for name, call := range map[string]func(ctx context.Context) error{
		"renew": func(ctx context.Context) error {
			_, err := s.Renew(ctx, job.Renewal{Worker: "w", Session: 1, Lease: time.Minute, Info: job.WorkerInfo{Started: time.Now()}})
			return err
		},
		"claim": func(ctx context.Context) error {
			_, err := s.Claim(ctx, job.Claim{Worker: "w", Session: 1, Call: 1, Since: 1, Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: 1}}, Limit: 1, Lease: time.Minute})
			return err
		},
		"settle": func(ctx context.Context) error {
			j := newJob(t, "k")
			j.State = job.Completed
			lost, err := s.Settle(ctx, 1, job.Outcome{Job: j})
			if len(lost) != 1 {
				err = fmt.Errorf("lost %v, %w", lost, err)
			}
			return err
		},
		"insert": func(ctx context.Context) error {
			_, err := s.Insert(ctx, newJob(t, "k"))
			return err
		},
		"insert with a key": func(ctx context.Context) error {
			_, err := s.Insert(ctx, newJob(t, "k", job.Unique("u")))
			return err
		},
		"large insert": func(ctx context.Context) error {
			_, err := s.Insert(ctx, newJobs(t, 600, "k", job.LimitKey("l"))...)
			return err
		},
		"pause":  func(ctx context.Context) error { return s.Pause(ctx, "q", true) },
		"counts": func(ctx context.Context) error { _, err := s.Counts(ctx); return err },
	} {
		server.do(t, "FLUSHALL")
		if err := call(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := s.Ping(t.Context()); err != nil {
			t.Errorf("ping after %s: %v", name, err)
		}
		other, err := redis.Open(t.Context(), url)
		if err != nil {
			t.Errorf("open by another program after %s: %v", name, err)
			continue
		}
		other.Close()
	}
}

// TestServerRestartsEmpty restarts a server that keeps nothing, or has lost its AOF, while a program is connected.
func TestServerRestartsEmpty(t *testing.T) {
	for query, aof := range map[string]string{"durable=yes": "yes", "durable=no": "no"} {
		server := ownServer(t, "--appendonly", aof)
		url := "redis://" + server.address() + "?" + query
		s := open(t, url)
		insert(t, s, newJob(t, "k"))
		server.kill(t)
		if err := os.RemoveAll(filepath.Join(server.folder, "appendonlydir")); err != nil {
			t.Fatal(err)
		}
		server.start(t)
		eventually(t, func() bool {
			_, err := s.Renew(t.Context(), job.Renewal{Worker: "w", Session: 1, Lease: time.Minute, Info: job.WorkerInfo{Started: time.Now()}})
			return err == nil
		})
		if err := open(t, url).Ping(t.Context()); err != nil {
			t.Errorf("%s: ping by another program: %v", query, err)
		}
	}
}

// TestLostDataAndAnotherProgram: where another program has taken the name since, or the server is not suitable any more, nothing is written.
func TestLostDataAndAnotherProgram(t *testing.T) {
	server := ownServer(t)
	s := open(t, "redis://"+server.address())
	for _, test := range []struct {
		do   []string
		want string
	}{
		{[]string{"SET", "{meanwhile}:x", "1"}, `there is a key "{meanwhile}:x" that is not of this store`},
		{[]string{"HSET", "{meanwhile}:leases", "a", "1"}, `there is a key "{meanwhile}:leases" that is not of this store`},
		{[]string{"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"}, "set maxmemory-policy noeviction"},
	} {
		server.do(t, "FLUSHALL")
		server.do(t, test.do...)
		keys := server.do(t, "KEYS", "*")
		if _, err := s.Insert(t.Context(), newJob(t, "k")); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: insert: %v, want %q", test.do, err, test.want)
		}
		if now := server.do(t, "KEYS", "*"); now != keys {
			t.Errorf("%v: keys were written: %q", test.do, now)
		}
	}
}

// TestManyCreateTheStore has many programs create a store at once and write to it.
func TestManyCreateTheStore(t *testing.T) {
	server := ownServer(t)
	for range 20 {
		server.do(t, "FLUSHALL")
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				s, err := redis.Open(t.Context(), "redis://"+server.address())
				if err != nil {
					t.Error(err)
					return
				}
				defer s.Close()
				if _, err := s.Insert(t.Context(), newJob(t, "k")); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
}
