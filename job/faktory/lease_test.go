package faktory

import (
	"testing"

	"github.com/meanwhile-go/meanwhile/job"
	memorystore "github.com/meanwhile-go/meanwhile/job/memory"
)

// TestJobsOfOtherServersKeepNoArgs: the args of jobs that another server has given to a client, up to a megabyte each, are not kept in memory until these jobs end.
func TestJobsOfOtherServersKeepNoArgs(t *testing.T) {
	store := memorystore.New()
	defer store.Close()
	j, err := job.New("a", []byte(`["large"]`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := job.Insert(t.Context(), store, j); err != nil {
		t.Fatal(err)
	}
	const name = namePrefix + "w"
	claimed, err := store.Claim(t.Context(), job.Claim{
		Worker: name, Session: sessionOf(name), Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: 1}}, Limit: 1, Lease: lease,
	})
	if err != nil || len(claimed.Jobs) != 1 {
		t.Fatalf("claimed %d jobs, %v", len(claimed.Jobs), err)
	}
	s, err := New(Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	cl := s.clients.connect(hello{Worker: "w"})
	if len(cl.jobs) != 1 {
		t.Fatalf("the server knows of %d jobs, want 1", len(cl.jobs))
	}
	for h := range cl.jobs {
		if h.job.Args != nil {
			t.Errorf("it keeps the args %s", h.job.Args)
		}
	}
}
