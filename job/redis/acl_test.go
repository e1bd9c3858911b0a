package redis_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/redis"
)

// rules are the permissions that docs/stores.md and the error of a user without them name.
const rules = "~{app}:* &{app}:wake +@all -@dangerous +info"

// TestPermissions uses a store as a user with the documented permissions, and as users that lack one of them.
func TestPermissions(t *testing.T) {
	server := ownServer(t)
	for _, test := range []struct{ rules, want string }{
		{rules, ""},
		{strings.ReplaceAll(rules, "+info", ""), rules},
		{strings.ReplaceAll(rules, "~{app}:*", "~other:*"), rules},
		{strings.ReplaceAll(rules, "&{app}:wake", "&other"), rules},
		{rules + " -evalsha -eval", rules},
		{rules + " -zadd", rules},
		{rules + " -subscribe", rules},
	} {
		server.do(t, append([]string{"ACL", "SETUSER", "app", "reset", "on", ">s3cret"}, strings.Fields(test.rules)...)...)
		ctx, cancel := context.WithTimeout(t.Context(), callLimit)
		err := useStore(ctx, t, "redis://app:s3cret@"+server.address()+"?name=app")
		cancel()
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: the error is %v, want %q", test.rules, err, test.want)
		}
	}
}

// TestPermissionsOnClusterAndSentinel uses stores there as users with the documented permissions.
func TestPermissionsOnClusterAndSentinel(t *testing.T) {
	bus, err := harm.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	node := ownServer(t, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(bus))
	node.do(t, "CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	eventually(t, func() bool { return strings.Contains(node.do(t, "CLUSTER", "INFO"), "cluster_state:ok") })
	primary := ownServer(t)
	sentinel := startSentinel(t, "sentinel monitor main 127.0.0.1 "+strconv.Itoa(primary.port)+" 1")
	user := append([]string{"ACL", "SETUSER", "app", "on", ">s3cret"}, strings.Fields(rules)...)
	node.do(t, user...)
	primary.do(t, user...)
	if err := useStore(t.Context(), t, "redis+cluster://app:s3cret@"+node.address()+"?name=app"); err != nil {
		t.Errorf("on a cluster: %v", err)
	}
	url := "redis+sentinel://app:s3cret@" + sentinel.address() + "?master=main&name=app"
	if err := useStore(t.Context(), t, url); err == nil || !strings.Contains(err.Error(), rules+" +role") {
		t.Errorf("behind Sentinel without ROLE: %v", err)
	}
	primary.do(t, "ACL", "SETUSER", "app", "+role")
	if err := useStore(t.Context(), t, url); err != nil {
		t.Errorf("behind Sentinel: %v", err)
	}
}

// useStore makes calls of most kinds.
func useStore(ctx context.Context, t *testing.T, url string) error {
	t.Helper()
	s, err := redis.Open(ctx, url)
	if err != nil {
		return err
	}
	defer s.Close()
	for _, call := range []func() error{
		func() error { _, err := s.Insert(ctx, newJob(t, "k")); return err },
		func() error {
			_, err := s.Insert(ctx, newJobs(t, 300, "k", job.LimitKey("l"), job.In(time.Second))...)
			return err
		},
		func() error { _, err := s.Wait(ctx, job.DefaultQueue); return err },
		func() error {
			_, err := s.Renew(ctx, job.Renewal{Worker: "w", Session: 1, Lease: time.Minute, Info: job.WorkerInfo{Started: time.Now()}})
			return err
		},
		func() error {
			got, err := s.Claim(ctx, job.Claim{Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: 9}}, Limit: 9, Lease: time.Minute})
			if err != nil {
				return err
			}
			for _, j := range got.Jobs {
				j.State = job.Completed
			}
			_, err = s.Settle(ctx, 1, job.Outcomes(got.Jobs...)...)
			return err
		},
		func() error { _, err := s.List(ctx, job.Filter{Limit: 10}); return err },
		func() error { _, err := s.Counts(ctx); return err },
		func() error { _, err := s.Workers(ctx); return err },
		func() error { _, err := job.Apply(ctx, s, job.Filter{}, job.ActionDelete); return err },
		func() error { _, err := s.Prune(ctx, nil, 10); return err },
	} {
		if err := call(); err != nil {
			return err
		}
	}
	return nil
}
