package faktory_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/faktory"
)

// A ledger records what producers and workers know about jobs.
type ledger struct {
	mu     sync.Mutex
	pushed map[string]bool // acknowledged
	acked  map[string]int  // by the worker that ran it
}

// TestLedger: producers and workers use two servers over one PostgreSQL database, one of which is stopped in turn. Each job whose push was
// acknowledged completes, and each attempt settles once, although it is acknowledged twice and at both servers.
func TestLedger(t *testing.T) {
	t.Parallel()
	url := database(t)
	open := func() *rig {
		store := openPostgres(t, url)
		t.Cleanup(func() { _ = store.Close() })
		return newRig(t, faktory.Config{Store: store})
	}
	var mu sync.Mutex
	rigs := [2]*rig{open(), open()}
	address := func(i int) string {
		mu.Lock()
		defer mu.Unlock()
		return rigs[i%2].address
	}
	l := &ledger{pushed: map[string]bool{}, acked: map[string]int{}}
	until := time.Now().Add(6 * time.Second)
	var working, producing sync.WaitGroup
	var stop atomic.Bool
	for i := range 4 {
		producing.Go(func() { l.produce(t, i, until, address) })
		working.Go(func() { l.work(t, i, &stop, address) })
	}
	for i := 0; time.Now().Before(until); i++ {
		time.Sleep(time.Second)
		mu.Lock()
		old := rigs[i%2]
		mu.Unlock()
		old.stop()
		fresh := open()
		mu.Lock()
		rigs[i%2] = fresh
		mu.Unlock()
	}
	producing.Wait()
	store := rigs[0].store
	left := func() int64 {
		counts, err := store.Counts(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		var n int64
		for _, c := range counts {
			if c.State != job.Completed {
				n += c.N
			}
		}
		return n
	}
	for end := time.Now().Add(4 * time.Minute); left() > 0 && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
	}
	stop.Store(true)
	working.Wait()
	if n := left(); n > 0 {
		t.Errorf("%d jobs have not completed", n)
	}
	completed := map[string]int{}
	for j, err := range job.List(context.Background(), store, job.Filter{States: []job.State{job.Completed}}) {
		if err != nil {
			t.Fatal(err)
		}
		completed[j.Meta[job.MetaID]]++
	}
	if len(l.pushed) == 0 {
		t.Fatal("nothing was pushed")
	}
	for jid := range l.pushed {
		if completed[jid] != 1 || l.acked[jid] == 0 {
			t.Errorf("%s was pushed, was acknowledged %d times, and completed %d times", jid, l.acked[jid], completed[jid])
		}
	}
	t.Logf("%d jobs", len(l.pushed))
}

// produce pushes jobs until a time. Jobs whose push was not answered may exist or not.
func (l *ledger) produce(t *testing.T, i int, until time.Time, address func(int) string) {
	var p *peer
	for n := 0; time.Now().Before(until); n++ {
		if p == nil {
			if p = dialAgain(t, address(i+n), ""); p == nil {
				continue
			}
		}
		jid := fmt.Sprintf("job-%d-%06d", i, n)
		got, err := p.tell(`PUSH {"jid":"` + jid + `","jobtype":"a","args":[],"reserve_for":60}`)
		if err != nil {
			p.socket.Close()
			p = nil
			continue
		}
		if got == "+OK" {
			l.mu.Lock()
			l.pushed[jid] = true
			l.mu.Unlock()
		}
	}
}

// work runs jobs: it fetches at one server and acknowledges at both.
func (l *ledger) work(t *testing.T, i int, stop *atomic.Bool, address func(int) string) {
	wid := fmt.Sprint("w", i)
	var peers [2]*peer
	ask := func(n int, command string) (string, bool) {
		if peers[n] == nil {
			if peers[n] = dialAgain(t, address(n), wid); peers[n] == nil {
				return "", false
			}
		}
		got, err := peers[n].tell(command)
		if err != nil {
			peers[n].socket.Close()
			peers[n] = nil
			return "", false
		}
		return got, true
	}
	for n := i; !stop.Load(); n++ {
		got, ok := ask(n%2, "FETCH default")
		if !ok || got == "nil" || got[0] == '-' {
			continue
		}
		jid := decode(t, got)["jid"].(string)
		for settled := 0; settled < 2; {
			if got, ok := ask((n+settled)%2, `ACK {"jid":"`+jid+`"}`); ok && got == "+OK" {
				settled++
			} else {
				time.Sleep(10 * time.Millisecond)
			}
		}
		l.mu.Lock()
		l.acked[jid]++
		l.mu.Unlock()
	}
}

// dialAgain connects, and returns nil if the server has just stopped.
func dialAgain(t *testing.T, address, wid string) *peer {
	socket, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		time.Sleep(10 * time.Millisecond)
		return nil
	}
	p := newPeer(t, socket)
	if _, err := p.read(); err == nil {
		if got, err := p.tell(`HELLO {"v":2,"wid":"` + wid + `"}`); err == nil && got == "+OK" {
			return p
		}
	}
	_ = socket.Close()
	return nil
}
