package redis_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
)

// TestStoreOnCluster tests the contract on a cluster of three nodes.
func TestStoreOnCluster(t *testing.T) {
	testenv.LongTest(t)
	t.Parallel()
	url := startCluster(t)
	// Names whose keys are on different nodes.
	jobtest.TestStore(t, func(t *testing.T) job.Store {
		t.Parallel()
		return open(t, url+"?name="+rand.Text())
	})
}

// TestJoinOnClusters tests the contract on a joined store whose parts are on different nodes of two clusters.
func TestJoinOnClusters(t *testing.T) {
	testenv.LongTest(t)
	t.Parallel()
	first, second := startCluster(t), startCluster(t)
	jobtest.TestStore(t, func(t *testing.T) job.Store {
		t.Parallel()
		return job.Join(open(t, first+"?name="+rand.Text()), open(t, second+"?name="+rand.Text()), open(t, second+"?name="+rand.Text()))
	}, jobtest.OrderInParts, jobtest.CallsInParts, jobtest.UniqueInParts, jobtest.LimitsFirst, jobtest.ThrottleInParts, jobtest.SessionsInParts)
}

// startCluster starts a cluster of three nodes for the duration of a test, and returns the URL of two of them.
func startCluster(t *testing.T) string {
	t.Helper()
	cli := testenv.Program(t, "redis-cli")
	args := []string{"--cluster", "create"}
	var servers []*server
	for range 3 {
		s := newServer(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "15000")
		// Set the port of the cluster bus: the default, ten thousand above the node's port, may be one that the system assigns by
		// itself.
		bus, err := harm.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		s.args = append(s.args, "--cluster-port", strconv.Itoa(bus))
		s.start(t)
		t.Cleanup(func() {
			s.kill(t)
			if err := os.RemoveAll(s.folder); err != nil {
				t.Error(err)
			}
		})
		servers = append(servers, s)
		args = append(args, s.address())
	}
	if out, err := exec.CommandContext(t.Context(), cli, append(args, "--cluster-yes")...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	eventually(t, func() bool {
		for _, s := range servers {
			if state, err := s.ask("CLUSTER", "INFO"); err != nil || !strings.Contains(state, "cluster_state:ok") {
				return false
			}
		}
		return true
	})
	return "redis+cluster://" + servers[0].address() + "," + servers[1].address()
}

// TestStoreBehindSentinel tests the contract on a server that Sentinels name; then the server fails, and the store continues with
// its replica.
func TestStoreBehindSentinel(t *testing.T) {
	testenv.LongTest(t)
	t.Parallel()
	primary := ownServer(t)
	replica := ownServer(t, "--replicaof", "127.0.0.1 "+strconv.Itoa(primary.port))
	var sentinels []*server
	var addresses []string
	for range 3 {
		s := startSentinel(t, "sentinel monitor main 127.0.0.1 "+strconv.Itoa(primary.port)+" 2", "sentinel failover-timeout main 10000")
		sentinels, addresses = append(sentinels, s), append(addresses, s.address())
	}
	url := "redis+sentinel://" + strings.Join(addresses, ",") + "?master=main&name="
	jobtest.TestStore(t, func(t *testing.T) job.Store { return open(t, url+rand.Text()) })

	s := open(t, url+"failover")
	before := newJobs(t, 50, "k")
	insert(t, s, before...)
	eventually(t, func() bool {
		info, err := replica.ask("INFO", "replication")
		return err == nil && strings.Contains(info, "master_link_status:up")
	})
	primary.do(t, "WAIT", "1", "20000")
	for _, s := range sentinels { // not before: on a busy machine a server that does not answer for seconds would be replaced during the contract
		s.do(t, "SENTINEL", "SET", "main", "down-after-milliseconds", "2000")
	}
	primary.kill(t)
	after := newJob(t, "after")
	eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := s.Insert(ctx, after)
		return err == nil || strings.Contains(err.Error(), "is there already")
	})
	jobs, err := s.List(t.Context(), job.Filter{Limit: 100})
	if err != nil || len(jobs) != 51 {
		t.Errorf("after the failover there are %d jobs, want 51: %v", len(jobs), err)
	}
}

// startSentinel starts a Sentinel for the duration of a test. It takes no server named main for dead before ten minutes.
func startSentinel(t *testing.T, lines ...string) *server {
	t.Helper()
	s := newServer(t)
	s.sentinel = filepath.Join(s.folder, "sentinel.conf")
	text := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\n%s\nsentinel down-after-milliseconds main 600000\n", s.port, s.folder, strings.Join(lines, "\n"))
	if err := os.WriteFile(s.sentinel, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.start(t)
	t.Cleanup(func() {
		s.kill(t)
		if err := os.RemoveAll(s.folder); err != nil {
			t.Error(err)
		}
	})
	return s
}

// eventually waits until ok returns true, for two minutes at most.
func eventually(t testing.TB, ok func() bool) {
	t.Helper()
	for begun := time.Now(); !ok(); {
		if time.Since(begun) > 2*time.Minute {
			t.Fatal("waited two minutes")
		}
		if err := meanwhile.Sleep(t.Context(), 50*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
}
