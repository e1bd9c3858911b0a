package faktory_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/faktory"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// pipes is a listener within the process, for tests with fake time.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	over  chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), over: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.over:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.over) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// A bubble has servers over a memory store, in fake time.
type bubble struct {
	*testing.T
	store job.Store
}

// A node is one of the servers of a bubble.
type node struct {
	*bubble
	server *faktory.Server
	pipes  *pipes
	stop   func()
}

func inBubble(t *testing.T, test func(b *bubble)) {
	synctest.Test(t, func(t *testing.T) { test(&bubble{t, memory.New()}) })
}

func (b *bubble) serve(c faktory.Config) *node {
	b.Helper()
	c.Store, c.Logger = b.store, cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	server, err := faktory.New(c)
	if err != nil {
		b.Fatal(err)
	}
	n := &node{bubble: b, server: server, pipes: newPipes()}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, n.pipes) }()
	n.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Errorf("serve: %v", err)
		}
	})
	b.Cleanup(n.stop)
	return n
}

// open connects, and returns the connection with its greeting read.
func (n *node) open() *peer {
	n.Helper()
	ours, theirs := net.Pipe()
	n.pipes.conns <- theirs
	n.Cleanup(func() { _ = ours.Close() })
	p := &peer{TB: n.T, socket: ours, reader: bufio.NewReader(ours)}
	var err error
	if p.hi, err = p.read(); err != nil {
		n.Fatal(err)
	}
	return p
}

func (n *node) worker(wid string) *peer {
	n.Helper()
	p := n.open()
	p.want(`HELLO {"v":2,"wid":"`+wid+`","hostname":"h","pid":1,"labels":["python"]}`, "+OK")
	return p
}

func (n *node) push(jid, more string) {
	n.Helper()
	p := n.open()
	p.want(`HELLO {"v":2}`, "+OK")
	p.want(`PUSH {"jid":"`+jid+`","jobtype":"a","args":[]`+more+`}`, "+OK")
	_ = p.socket.Close()
}

func (b *bubble) one(jid string) *job.Job {
	b.Helper()
	return (&rig{TB: b.T, store: b.store}).one(jid)
}

// beatFor sends BEATs of a client for some time.
func (p *peer) beatFor(wid string, d time.Duration) {
	p.Helper()
	for range d / (10 * time.Second) {
		time.Sleep(10 * time.Second)
		p.want(`BEAT {"wid":"`+wid+`"}`, "+OK")
	}
}

func TestReservationEnds(t *testing.T) {
	inBubble(t, func(b *bubble) {
		n := b.serve(faktory.Config{})
		n.push("job-000001", `,"reserve_for":60`)
		slow, other := n.worker("slow"), n.worker("other")
		if got := slow.fetch("default"); got == nil || got.Reserve != 60 {
			t.Fatalf("fetched %+v", got)
		}
		slow.beatFor("slow", 50*time.Second)
		if got := other.fetch("default"); got != nil {
			t.Fatal("a reserved job was given to another client")
		}
		slow.beatFor("slow", 20*time.Second)
		got := other.fetch("default")
		if got == nil || got.Failure == nil || !strings.Contains(got.Failure.Message, "was not heard of") {
			t.Fatalf("after the reservation another fetched %+v", got)
		}
		slow.want(`ACK {"jid":"job-000001"}`, "+OK")
		slow.want(`FAIL {"jid":"job-000001"}`, "-ERR Job not found")
		if j := b.one("job-000001"); j.State != job.Running || j.Worker != "faktory/other" {
			t.Errorf("after the late ACK the job is %+v", j)
		}
		other.want(`ACK {"jid":"job-000001"}`, "+OK")
		if j := b.one("job-000001"); j.State != job.Completed {
			t.Errorf("it is %s", j.State)
		}
	})
}

// TestClientDies: a client keeps its jobs while it has a connection, or sends BEATs.
func TestClientDies(t *testing.T) {
	inBubble(t, func(b *bubble) {
		n := b.serve(faktory.Config{})
		n.push("job-000001", `,"reserve_for":3600`)
		silent, other := n.worker("silent"), n.worker("other")
		if silent.fetch("default") == nil {
			t.Fatal("no job")
		}
		time.Sleep(10 * time.Minute)
		if got := other.fetch("default"); got != nil {
			t.Fatalf("fetched %+v of a client that is connected", got)
		}
		if workers, _ := b.store.Workers(t.Context()); len(workers) != 2 || workers[1].Running != 1 {
			t.Errorf("workers %+v", workers)
		}
		_ = silent.socket.Close()
		time.Sleep(50 * time.Second)
		if got := other.fetch("default"); got != nil {
			t.Fatalf("fetched %+v of a client that may connect again", got)
		}
		time.Sleep(15 * time.Second)
		if got := other.fetch("default"); got == nil {
			t.Fatal("the job of a client that is gone was not released")
		}
		if workers, _ := b.store.Workers(t.Context()); len(workers) != 1 || workers[0].Name != "faktory/other" {
			t.Errorf("workers %+v", workers)
		}
	})
}

// TestServerDies: a job that a server has given to a client is kept and settled by another server after the first has stopped.
func TestServerDies(t *testing.T) {
	inBubble(t, func(b *bubble) {
		first, second := b.serve(faktory.Config{}), b.serve(faktory.Config{})
		first.push("job-000001", `,"reserve_for":3600`)
		first.push("job-000002", `,"reserve_for":600`)
		p, other := first.worker("w"), second.worker("other")
		for range 2 {
			if p.fetch("default") == nil {
				t.Fatal("no job")
			}
		}
		first.stop()
		p.closed()
		p = second.worker("w")
		p.beatFor("w", 9*time.Minute)
		if got := other.fetch("default"); got != nil {
			t.Fatalf("fetched %+v, which is reserved", got)
		}
		p.beatFor("w", 2*time.Minute)
		if got := other.fetch("default"); got == nil || got.JID != "job-000002" {
			t.Fatalf("fetched %+v, want the job whose reservation is over", got)
		}
		p.want(`ACK {"jid":"job-000001"}`, "+OK")
		if j := b.one("job-000001"); j.State != job.Completed || j.Attempt != 1 {
			t.Errorf("got job %+v", j)
		}
		second.stop()
	})
}

// TestEndAtAnotherServer: a client of two servers may end a job at the one that did not give it the job, also if its jid is a UUID, as the client for
// Node makes them. The reservation ends there, too.
func TestEndAtAnotherServer(t *testing.T) {
	inBubble(t, func(b *bubble) {
		first, second := b.serve(faktory.Config{}), b.serve(faktory.Config{})
		for _, end := range []struct {
			verb, jid string
			want      job.State
		}{
			{"ACK", "job-000001", job.Completed},
			{"FAIL", "job-000002", job.Discarded},
			{"ACK", "3f2c1b9e-7a55-4c1d-9e2a-000000000001", job.Completed},
			{"FAIL", "3f2c1b9e-7a55-4c1d-9e2a-000000000002", job.Discarded},
		} {
			jid := end.jid
			first.push(jid, `,"retry":-1`)
			p, q := first.worker("w"), second.worker("w")
			if p.fetch("default") == nil {
				t.Fatal("no job")
			}
			q.want(`TRACK SET {"jid":"`+jid+`","percent":7}`, "+OK")
			q.want(`TRACK GET `+jid, `{"jid":"`+jid+`","percent":7,"state":"working"`)
			stranger := second.worker("stranger")
			stranger.want(`ACK {"jid":"`+jid+`"}`, "+OK")
			stranger.want(`FAIL {"jid":"`+jid+`"}`, "-ERR Job not found")
			if j := b.one(jid); j.State != job.Running {
				t.Fatalf("ended by another client, the job is %+v", j)
			}
			q.want(end.verb+` {"jid":"`+jid+`","message":"x"}`, "+OK")
			p.want(`ACK {"jid":"`+jid+`"}`, "+OK")
			if j := b.one(jid); j.State != end.want {
				t.Errorf("got job %+v, want %s", j, end.want)
			}
		}
	})
}

// TestEndOfALaterAttempt: a server that knows an earlier attempt of a job ends the one that the client runs: the earlier one was ended at another
// server, or by a call of the store whose answer was lost.
func TestEndOfALaterAttempt(t *testing.T) {
	for _, servers := range []int{1, 2} {
		t.Run(fmt.Sprint(servers), func(t *testing.T) {
			inBubble(t, func(b *bubble) {
				store := &counted{Store: b.store}
				b.store = store
				first := b.serve(faktory.Config{})
				second := first
				enqueued, err := job.Define[[]int]("a").Enqueue(t.Context(), store, nil) // from Go, with a short backoff
				if err != nil {
					t.Fatal(err)
				}
				jid := enqueued.ID.String()
				p := first.worker("w")
				if p.fetch("default") == nil {
					t.Fatal("no job")
				}
				want := "+OK"
				if servers == 2 {
					second = b.serve(faktory.Config{})
				} else {
					store.loseSettles.Store(true)
					want = "-ERR the store failed"
				}
				q := second.worker("w") // the second server reads what the client runs
				time.Sleep(3 * time.Second)
				p.want(`FAIL {"jid":"`+jid+`","message":"x"}`, want)
				store.loseSettles.Store(false)
				time.Sleep(1200 * time.Millisecond)
				if p.fetch("default") == nil {
					t.Fatal("no second attempt")
				}
				q.want(`ACK {"jid":"`+jid+`"}`, "+OK")
				if j, err := job.Find(t.Context(), store, enqueued.ID); err != nil || j.State != job.Completed || j.Attempt != 2 {
					t.Errorf("got job %+v, %v", j, err)
				}
			})
		})
	}
}

// TestProgressOfALaterAttempt: a server that knows an earlier attempt of a job writes the progress of the one that the client runs.
func TestProgressOfALaterAttempt(t *testing.T) {
	inBubble(t, func(b *bubble) {
		first, second := b.serve(faktory.Config{}), b.serve(faktory.Config{})
		enqueued, err := job.Define[[]int]("a").Enqueue(t.Context(), b.store, nil) // from Go, with a short backoff
		if err != nil {
			t.Fatal(err)
		}
		jid := enqueued.ID.String()
		p := first.worker("w")
		if p.fetch("default") == nil {
			t.Fatal("no job")
		}
		q := second.worker("w") // the second server reads what the client runs
		time.Sleep(3 * time.Second)
		p.want(`FAIL {"jid":"`+jid+`","message":"x"}`, "+OK")
		time.Sleep(1200 * time.Millisecond)
		if p.fetch("default") == nil {
			t.Fatal("no second attempt")
		}
		q.want(`TRACK SET {"jid":"`+jid+`","percent":40}`, "+OK")
		q.want(`TRACK GET `+jid, `{"jid":"`+jid+`","percent":40,"state":"working"`)
		q.want(`ACK {"jid":"`+jid+`"}`, "+OK")
		if j, err := job.Find(t.Context(), b.store, enqueued.ID); err != nil || j.State != job.Completed || j.Attempt != 2 {
			t.Errorf("got job %+v, %v", j, err)
		}
		q.want(`TRACK SET {"jid":"`+jid+`","percent":50}`, "-ERR Job not found")
	})
}

// counted counts calls of a store.
type counted struct {
	job.Store
	claims, settles, waits atomic.Int64
	slow                   time.Duration // that claims and settles take
	fail                   atomic.Bool   // claims claim jobs, but return an error
	loseSettles            atomic.Bool   // settles write outcomes, but return an error
	failSettles            atomic.Bool   // settles write nothing, and return an error
	failRenews             atomic.Bool   // renewals change nothing, and return an error
}

func (c *counted) Settle(ctx context.Context, session job.Session, outcomes ...job.Outcome) ([]job.ID, error) {
	c.settles.Add(1)
	time.Sleep(c.slow)
	if c.failSettles.Load() {
		return nil, errors.New("the disk is full")
	}
	lost, err := c.Store.Settle(ctx, session, outcomes...)
	if c.loseSettles.Load() {
		return nil, errors.New("the connection broke")
	}
	return lost, err
}

func (c *counted) Claim(ctx context.Context, claim job.Claim) (job.Claimed, error) {
	c.claims.Add(1)
	time.Sleep(c.slow)
	got, err := c.Store.Claim(ctx, claim)
	if c.fail.Load() {
		return job.Claimed{}, errors.New("the connection broke")
	}
	return got, err
}

func (c *counted) Renew(ctx context.Context, r job.Renewal) (job.Renewed, error) {
	if c.failRenews.Load() {
		return job.Renewed{}, errors.New("the connection broke")
	}
	return c.Store.Renew(ctx, r)
}

func (c *counted) Wait(ctx context.Context, queues ...string) ([]string, error) {
	c.waits.Add(1)
	defer c.waits.Add(-1)
	return c.Store.Wait(ctx, queues...)
}

// TestFetchesShareAWait: many clients that fetch from the same queues call the store as often as one, and each job immediately goes to one of them.
func TestFetchesShareAWait(t *testing.T) {
	// So many timers, on two processors, sometimes crash the race detector: https://go.dev/issue/78156.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	inBubble(t, func(b *bubble) {
		store := &counted{Store: b.store}
		b.store = store
		n := b.serve(faktory.Config{})
		const many = 300
		var fetched atomic.Int64
		peers := make([]*peer, many)
		for i := range peers {
			peers[i] = n.worker(fmt.Sprint("w", i%7))
		}
		var group sync.WaitGroup
		over := time.Now().Add(20 * time.Second)
		for _, p := range peers {
			group.Go(func() {
				for time.Now().Before(over) {
					if p.fetch("a b") != nil {
						fetched.Add(1)
						time.Sleep(2 * time.Second) // it is run
					}
				}
			})
		}
		time.Sleep(time.Second / 2)
		synctest.Wait()
		if n := store.waits.Load(); n != 1 {
			t.Errorf("%d calls wait on the store, want 1", n)
		}
		time.Sleep(9 * time.Second)
		if claims := store.claims.Load(); claims > 60 {
			t.Errorf("%d fetches without a job made %d claims in 9 s, want about one a second", many, claims)
		}
		var bulk []string
		for i := range 100 {
			bulk = append(bulk, fmt.Sprintf(`{"jid":"job-%06d","jobtype":"a","args":[],"queue":"%c"}`, i, 'a'+i%2))
		}
		n.worker("producer").want("PUSHB ["+strings.Join(bulk, ",")+"]", "{}")
		begun := time.Now()
		synctest.Wait()
		if n := fetched.Load(); n != 100 || time.Since(begun) > 0 {
			t.Errorf("%d jobs were fetched after %v, want 100 immediately", n, time.Since(begun))
		}
		group.Wait()
		if n := fetched.Load(); n != 100 {
			t.Errorf("%d jobs were fetched, want 100", n)
		}
	})
}

// TestIdleProgramsDoNotWakeEachOther: programs that fetch again and again, from queues of their own or from the same queues in another order each time,
// each ask the store about once a second, and a new fetch does not make the others ask.
func TestIdleProgramsDoNotWakeEachOther(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // as in TestFetchesShareAWait
	const many = 100
	own := func(i int) string { return fmt.Sprint("q", i) }
	shuffled := func(int) string {
		queues := strings.Fields("q0 q1 q2 q3 q4 q5 q6 q7")
		rand.Shuffle(len(queues), func(i, j int) { queues[i], queues[j] = queues[j], queues[i] })
		return strings.Join(queues, " ")
	}
	for name, queues := range map[string]func(i int) string{"own queues": own, "shuffled queues": shuffled} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bubble) {
				store := &counted{Store: b.store}
				b.store = store
				n := b.serve(faktory.Config{})
				for i := range many { // the store knows of earlier jobs in all queues
					n.push(fmt.Sprintf("job-%06d", i), `,"queue":"`+own(i)+`","at":"2000-01-02T00:00:00Z"`)
				}
				var group sync.WaitGroup
				over := time.Now().Add(22 * time.Second)
				for i := range many {
					p := n.worker(fmt.Sprint("w", i))
					group.Go(func() {
						for time.Sleep(time.Duration(i) * 19 * time.Millisecond); time.Now().Before(over); {
							if got := p.fetch(queues(i)); got != nil {
								t.Errorf("fetched %+v", got)
							}
						}
					})
				}
				time.Sleep(2 * time.Second)
				before := store.claims.Load()
				time.Sleep(20 * time.Second)
				if claims := store.claims.Load() - before; claims > 20*2*many {
					t.Errorf("%d programs without a job made %d claims in 20 s, want at most two a second each", many, claims)
				}
				group.Wait()
			})
		})
	}
}

// TestBusyQueueWakesItsProgramsOnly: jobs that come to one queue do not make programs of other queues ask the store.
func TestBusyQueueWakesItsProgramsOnly(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // as in TestFetchesShareAWait
	inBubble(t, func(b *bubble) {
		store := &counted{Store: b.store}
		b.store = store
		n := b.serve(faktory.Config{})
		const idle, jobs = 100, 1000
		var group sync.WaitGroup
		over := time.Now().Add(3 * time.Second)
		var fetched atomic.Int64
		fetch := func(name string) {
			p := n.worker(name)
			group.Go(func() {
				for time.Now().Before(over) {
					if p.fetch(name) != nil {
						fetched.Add(1)
					}
				}
			})
		}
		for i := range idle {
			fetch(fmt.Sprint("idle-", i))
		}
		fetch("busy")
		time.Sleep(1500 * time.Millisecond)
		before := store.claims.Load()
		for range jobs { // from a program in Go
			j, err := job.New("a", []byte("[]"), job.Queue("busy"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := job.Insert(t.Context(), store, j); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		claims := store.claims.Load() - before
		group.Wait()
		if most := int64(3 * jobs); claims > most || fetched.Load() != jobs { // about two for each job, and one a second of each idle program
			t.Errorf("%d claims while %d jobs came to the queue of one of %d programs, want at most %d; %d jobs were fetched", claims, jobs, idle+1, most, fetched.Load())
		}
	})
}

// TestConnectionsOfAClientShareCalls: the connections of one client fetch and acknowledge in a few calls of the store, however many they are, and
// each gets its own job.
func TestConnectionsOfAClientShareCalls(t *testing.T) {
	inBubble(t, func(b *bubble) {
		store := &counted{Store: b.store, slow: 10 * time.Millisecond}
		b.store = store
		n := b.serve(faktory.Config{})
		const many = 50
		var bulk []string
		for i := range many {
			bulk = append(bulk, fmt.Sprintf(`{"jid":"job-%06d","jobtype":"a","args":[]}`, i))
		}
		n.worker("producer").want("PUSHB ["+strings.Join(bulk, ",")+"]", "{}")
		var mu sync.Mutex
		got := map[string]int{}
		var group sync.WaitGroup
		for range many {
			p := n.worker("w")
			group.Go(func() {
				time.Sleep(time.Second)
				j := p.fetch("default")
				if j == nil {
					t.Error("no job")
					return
				}
				mu.Lock()
				got[j.JID]++
				mu.Unlock()
				time.Sleep(time.Second)
				p.want(`ACK {"jid":"`+j.JID+`"}`, "+OK")
			})
		}
		group.Wait()
		if claims, settles := store.claims.Load(), store.settles.Load(); claims > many/2 || settles > many/2 {
			t.Errorf("got %d claims and %d settles of %d jobs, want at most half as many", claims, settles, many)
		}
		for i := range many {
			jid := fmt.Sprintf("job-%06d", i)
			if j := b.one(jid); got[jid] != 1 || j.State != job.Completed {
				t.Errorf("%s was fetched %d times, and is %s", jid, got[jid], j.State)
			}
		}
	})
}

// TestClaimIsNotAnswered: the jobs of a claim whose answer is lost are released, and not held as long as a reservation.
func TestClaimIsNotAnswered(t *testing.T) {
	inBubble(t, func(b *bubble) {
		store := &counted{Store: b.store}
		b.store = store
		n := b.serve(faktory.Config{})
		n.push("job-000001", "")
		p := n.worker("w")
		store.fail.Store(true)
		p.want("FETCH default", "-ERR the store failed")
		if j := b.one("job-000001"); j.State != job.Running {
			t.Fatalf("it is %s", j.State)
		}
		store.fail.Store(false)
		time.Sleep(5 * time.Second)
		got := p.fetch("default")
		if got == nil || got.Failure != nil {
			t.Fatalf("fetched %+v", got)
		}
		if j := b.one("job-000001"); j.Used() != 1 {
			t.Errorf("%d attempts are used, want 1", j.Used())
		}
		p.beatFor("w", 5*time.Minute)
		if j := b.one("job-000001"); j.State != job.Running || j.Attempt != 2 {
			t.Errorf("got job %+v", j)
		}
	})
}

// TestClaimIsNotAnsweredInALongOutage: a job that was claimed when the store began to fail is released as soon as the store answers again, also if that
// takes minutes.
func TestClaimIsNotAnsweredInALongOutage(t *testing.T) {
	inBubble(t, func(b *bubble) {
		store := &counted{Store: b.store}
		b.store = store
		n := b.serve(faktory.Config{})
		n.push("job-000001", "")
		p, q := n.worker("w"), n.worker("other")
		store.fail.Store(true)
		store.failRenews.Store(true)
		p.want("FETCH default", "-ERR the store failed")
		time.Sleep(4 * time.Minute)
		store.fail.Store(false)
		store.failRenews.Store(false)
		time.Sleep(5 * time.Second)
		if got := q.fetch("default"); got == nil || got.Failure != nil {
			t.Fatalf("after the outage another client fetched %+v", got)
		}
	})
}

// TestUnansweredClaimSparesJobsOfOtherServers: after a claim whose answer is lost, jobs that the client fetches at another server later are not released
// while it runs them.
func TestUnansweredClaimSparesJobsOfOtherServers(t *testing.T) {
	inBubble(t, func(b *bubble) {
		second := b.serve(faktory.Config{})
		store := &counted{Store: b.store}
		b.store = store
		p, q := b.serve(faktory.Config{}).worker("w"), second.worker("w")
		store.fail.Store(true)
		p.want("FETCH default", "-ERR the store failed")
		store.fail.Store(false)
		time.Sleep(15 * time.Second)
		second.push("job-000001", "")
		if q.fetch("default") == nil {
			t.Fatal("no job")
		}
		time.Sleep(30 * time.Second)
		if j := b.one("job-000001"); j.State != job.Running || j.Attempt != 1 {
			t.Errorf("while the client ran it, the job was released: %+v", j)
		}
		q.want(`ACK {"jid":"job-000001"}`, "+OK")
		if j := b.one("job-000001"); j.State != job.Completed {
			t.Errorf("it is %s", j.State)
		}
	})
}

// TestAnswerDoesNotArrive: a job that could not be sent to its client is released immediately.
func TestAnswerDoesNotArrive(t *testing.T) {
	inBubble(t, func(b *bubble) {
		n := b.serve(faktory.Config{})
		p := n.worker("w")
		if _, err := io.WriteString(p.socket, "FETCH default\n"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		_ = p.socket.Close()
		n.push("job-000001", "")
		synctest.Wait()
		if j := b.one("job-000001"); j.State != job.Queued || j.Used() != 0 {
			t.Errorf("got job %+v", j)
		}
	})
}

// TestReleaseFails: a job that could be released neither after it did not reach its client, nor canceled after it had expired, is not held as long as a
// reservation.
func TestReleaseFails(t *testing.T) {
	inBubble(t, func(b *bubble) {
		store := &counted{Store: b.store}
		b.store = store
		n := b.serve(faktory.Config{})
		p, q := n.worker("w"), n.worker("w")
		if _, err := io.WriteString(p.socket, "FETCH default\n"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		_ = p.socket.Close()
		store.failSettles.Store(true)
		n.push("job-000001", "")
		synctest.Wait()
		store.failSettles.Store(false)
		if j := b.one("job-000001"); j.State != job.Running {
			t.Fatalf("it is %s", j.State)
		}
		time.Sleep(5 * time.Second)
		if got := q.fetch("default"); got == nil || got.JID != "job-000001" {
			t.Errorf("another connection of the client fetched %+v", got)
		}

		time.Sleep(2 * time.Minute) // what was in doubt is over
		at := time.Now().Add(time.Second).UTC().Format(time.RFC3339)
		n.push("job-expires", `,"queue":"e","custom":{"expires_at":"`+at+`"}`)
		time.Sleep(2 * time.Second)
		store.failSettles.Store(true)
		q.want("FETCH e", "-ERR the store failed")
		store.failSettles.Store(false)
		time.Sleep(5 * time.Second)
		if got := q.fetch("e"); got != nil {
			t.Errorf("fetched %+v, which has expired", got)
		}
		if j := b.one("job-expires"); j.State != job.Canceled {
			t.Errorf("it is %s", j.State)
		}
	})
}

// TestQuietWithoutBeats: a client that fetches here is quieted here, although it sends its BEATs to another server, or none, as a client that gave no wid.
func TestQuietWithoutBeats(t *testing.T) {
	for _, hello := range []string{`{"v":2}`, `{"v":2,"wid":"w"}`} {
		t.Run(hello, func(t *testing.T) {
			inBubble(t, func(b *bubble) {
				first, second := b.serve(faktory.Config{}), b.serve(faktory.Config{})
				p := first.open()
				p.want("HELLO "+hello, "+OK")
				if got := p.fetch("default"); got != nil {
					t.Fatalf("fetched %+v", got)
				}
				workers, err := b.store.Workers(t.Context())
				if err != nil || len(workers) != 1 {
					t.Fatalf("workers %+v, %v", workers, err)
				}
				if err := b.store.SendCommand(t.Context(), workers[0].Name, job.Command{Do: job.CommandQuiet}); err != nil {
					t.Fatal(err)
				}
				first.push("job-000001", "")
				time.Sleep(20 * time.Second)
				first.push("job-000002", "")
				if got := p.fetch("default"); got != nil {
					t.Errorf("a quiet client fetched %+v", got)
				}
				if strings.Contains(hello, "wid") {
					second.worker("w").want(`BEAT {"wid":"w"}`, `{"state":"quiet"}`)
				}
				time.Sleep(20 * time.Second)
				if workers, err := b.store.Workers(t.Context()); err != nil || len(workers) != 1 || !workers[0].Quiet {
					t.Errorf("workers %+v, %v, want a quiet one", workers, err)
				}
			})
		})
	}
}

func TestHandshakeTakesTwoSeconds(t *testing.T) {
	inBubble(t, func(b *bubble) {
		n := b.serve(faktory.Config{})
		begun := time.Now()
		p := n.open()
		p.closed()
		if took := time.Since(begun); took != 2*time.Second {
			t.Errorf("a silent connection was closed after %v, want 2s", took)
		}
		p = n.open()
		for range 3 { // single bytes do not extend the time
			time.Sleep(900 * time.Millisecond)
			_, _ = io.WriteString(p.socket, "H")
		}
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("took %v", took)
		}
		p.closed()
		p = n.worker("w")
		time.Sleep(time.Hour)
		p.want(`BEAT {"wid":"w"}`, "+OK")
		begun = time.Now()
		_, _ = io.WriteString(p.socket, "PUSH {") // and no more
		p.closed()
		if took := time.Since(begun); took != 30*time.Second {
			t.Errorf("a connection with half a command was closed after %v, want 30s", took)
		}
	})
}

// TestWrongPasswordsAreSlow: wrong passwords are answered later and later, a correct one from the same address immediately.
func TestWrongPasswordsAreSlow(t *testing.T) {
	inBubble(t, func(b *bubble) {
		n := b.serve(faktory.Config{Password: "correct horse"})
		var group sync.WaitGroup
		took := make([]time.Duration, 5)
		begun := time.Now()
		for i := range took {
			p := n.open()
			group.Go(func() {
				p.want(`HELLO {"v":2,"pwdhash":"`+hash(t, p.hi, "wrong horse")+`"}`, "-ERR Invalid password")
				took[i] = time.Since(begun)
				p.closed()
			})
		}
		synctest.Wait()
		p := n.open()
		p.want(`HELLO {"v":2,"pwdhash":"`+hash(t, p.hi, "correct horse")+`"}`, "+OK")
		if d := time.Since(begun); d != 0 {
			t.Errorf("a correct password was answered after %v, want immediately", d)
		}
		group.Wait()
		var all time.Duration
		for _, d := range took {
			all += d
		}
		if all != 15*time.Second {
			t.Errorf("5 wrong passwords were answered after %v, want a second apart", took)
		}
		for _, hello := range []string{`{"v":2}`, `{"v":2,"pwdhash":""}`} {
			n.open().want("HELLO "+hello, "-ERR Invalid password")
		}
	})
}

// TestGuessesAreLimited: after many wrong passwords, those of an address are compared once a second, even if it does not wait for answers. An address
// that has given the right one is never refused.
func TestGuessesAreLimited(t *testing.T) {
	inBubble(t, func(b *bubble) {
		n := b.serve(faktory.Config{Password: "correct horse"})
		try := func(password, want string) {
			t.Helper()
			p := n.open()
			p.want(`HELLO {"v":2,"pwdhash":"`+hash(t, p.hi, password)+`"}`, want)
			_ = p.socket.Close()
		}
		guess := func() {
			for range 300 {
				p := n.open()
				_, _ = io.WriteString(p.socket, `HELLO {"v":2,"pwdhash":"`+hash(t, p.hi, "wrong horse")+`"}`+"\r\n")
				synctest.Wait()
				_ = p.socket.Close()
			}
		}
		guess()
		try("correct horse", "-ERR Too many wrong passwords from this address: try again in 1s")
		time.Sleep(time.Second)
		try("correct horse", "+OK")
		guess()
		try("correct horse", "+OK")
		time.Sleep(time.Hour)
		guess()
		try("correct horse", "-ERR Too many wrong passwords from this address: try again in 1s")
	})
}

// TestFewAnswersAreDelayed: wrong passwords keep at most 256 connections open, also from an address that has given the right one. More are answered
// immediately.
func TestFewAnswersAreDelayed(t *testing.T) {
	inBubble(t, func(b *bubble) {
		n := b.serve(faktory.Config{Password: "correct horse"})
		p := n.open()
		p.want(`HELLO {"v":2,"pwdhash":"`+hash(t, p.hi, "correct horse")+`"}`, "+OK")
		var group sync.WaitGroup
		var answered atomic.Int64
		for range 300 {
			p := n.open()
			group.Go(func() {
				p.want(`HELLO {"v":2,"pwdhash":"`+hash(t, p.hi, "wrong horse")+`"}`, "-ERR Invalid password")
				answered.Add(1)
			})
		}
		synctest.Wait()
		if got := answered.Load(); got != 300-256 {
			t.Errorf("%d of 300 wrong passwords were answered immediately, want 44", got)
		}
		group.Wait()
		p = n.open()
		begun := time.Now()
		p.want(`HELLO {"v":2,"pwdhash":"`+hash(t, p.hi, "wrong horse")+`"}`, "-ERR Invalid password")
		if time.Since(begun) == 0 {
			t.Error("once all are answered, a wrong password is answered immediately")
		}
	})
}

// TestQueuesOfAClientAreListedAtOnce: an operator sees which queues a client fetches from, and how many connections it has, before its first BEAT.
func TestQueuesOfAClientAreListedAtOnce(t *testing.T) {
	inBubble(t, func(b *bubble) {
		n := b.serve(faktory.Config{})
		p := n.worker("a")
		queues := func() []string {
			t.Helper()
			time.Sleep(1500 * time.Millisecond)
			workers, err := b.store.Workers(t.Context())
			if err != nil || len(workers) != 1 {
				t.Fatalf("workers %+v, %v", workers, err)
			}
			return workers[0].Queues
		}
		time.Sleep(5 * time.Second)
		p.fetch("one")
		if got := queues(); !slices.Equal(got, []string{"one"}) {
			t.Errorf("the client is listed with the queues %q", got)
		}
		time.Sleep(3 * time.Second)
		p.fetch("two one")
		if got := queues(); !slices.Equal(got, []string{"two", "one"}) {
			t.Errorf("the client is listed with the queues %q", got)
		}
	})
}

func TestStopsWithinItsTime(t *testing.T) {
	inBubble(t, func(b *bubble) {
		n := b.serve(faktory.Config{})
		idle, waiting := n.worker("a"), n.worker("b")
		_, _ = io.WriteString(waiting.socket, "FETCH default\r\n")
		time.Sleep(time.Second / 2)
		begun := time.Now()
		go func() { _, _ = io.Copy(io.Discard, waiting.socket) }()
		n.stop()
		if took := time.Since(begun); took > time.Second {
			t.Errorf("the server stopped after %v, want at most a second", took)
		}
		idle.closed()
	})
}

// A hangingStore does not answer until a call ends.
type hangingStore struct{ job.Store }

func (hangingStore) Insert(ctx context.Context, _ ...*job.Job) ([]job.ID, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (hangingStore) Settle(ctx context.Context, _ job.Session, _ ...job.Outcome) ([]job.ID, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestStopsAlthoughACommandHangs: a server that stops does not wait for a command longer than the five seconds that it gives to it, whether the store does not
// answer or the client does not read the answer.
func TestStopsAlthoughACommandHangs(t *testing.T) {
	for _, test := range []struct{ name, command string }{
		{"insert", `PUSH {"jid":"job-000002","jobtype":"a","args":[]}`},
		{"bulk", `PUSHB [{"jid":"job-000002","jobtype":"a","args":[]}]`},
		{"settle", `ACK {"jid":"job-000001"}`},
		{"answer", `INFO`},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(b *bubble) {
				store := b.store
				b.store = hangingStore{store}
				n := b.serve(faktory.Config{})
				j, err := job.New("a", []byte("[]"), job.Meta(job.MetaID, "job-000001"))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := job.Insert(t.Context(), store, j); err != nil {
					t.Fatal(err)
				}
				p := n.worker("w")
				if p.fetch("default") == nil {
					t.Fatal("no job")
				}
				_, _ = io.WriteString(p.socket, test.command+"\r\n") // and the answer is not read
				synctest.Wait()
				begun := time.Now()
				n.stop()
				if took := time.Since(begun); took > 5*time.Second {
					t.Errorf("the server stopped after %v, want at most 5s", took)
				}
			})
		})
	}
}

func TestExpiresAndUnique(t *testing.T) {
	inBubble(t, func(b *bubble) {
		n := b.serve(faktory.Config{})
		at := time.Now().Add(time.Minute).UTC().Format(time.RFC3339)
		n.push("job-expires", `,"custom":{"expires_at":"`+at+`"}`)
		n.push("job-unique", `,"queue":"u","custom":{"unique_for":60}`)
		p := n.worker("w")
		again := `PUSH {"jid":"job-again1","jobtype":"a","args":[],"queue":"u","custom":{"unique_for":60}}`
		p.want(again, "-NOTUNIQUE Job not unique")
		p.want(`PUSHB [{"jid":"job-again2","jobtype":"a","args":[],"custom":{"unique_for":60}}]`, `{"job-again2":"Job not unique"}`)
		time.Sleep(2 * time.Minute)
		if got := p.fetch("default"); got != nil {
			t.Errorf("fetched %+v, which has expired", got)
		}
		if j := b.one("job-expires"); j.State != job.Canceled || !strings.Contains(j.LastError(), "expired at") {
			t.Errorf("got job %+v", j)
		}
		if p.fetch("u") == nil {
			t.Fatal("no job")
		}
		p.want(again, "-NOTUNIQUE")
		p.want(`PUSH {"jid":"job-again3","jobtype":"a","args":[],"queue":"v","custom":{"unique_for":60,"unique_until":"start"}}`, "+OK")
		p.want(`ACK {"jid":"job-unique"}`, "+OK")
	})
}
