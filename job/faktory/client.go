package faktory

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/group"
	"github.com/meanwhile-go/meanwhile/job"
)

const (
	eachBeat      = 15 * time.Second // how often the lease of a client is renewed
	clientGone    = time.Minute      // how long after its last BEAT a client without a connection is gone
	checkInterval = time.Second      // how often reservations are checked for their end
	eachSync      = time.Minute      // how often jobs are read that other servers have given to clients that are here now
	mostSynced    = 1000             // jobs of a client
	mostTogether  = 500              // fetches or acknowledgements of a client in one call of the store
	takeOverTime  = time.Second      // timeout of the same in a handshake; jobs that it does not read are read later
	mostLeaving   = 16               // clients that are removed from the list of workers concurrently
	mostGone      = MaxConnections   // clients that wait to be removed; more are removed by Prune after a day
)

// namePrefix begins the names of workers that are clients of this protocol.
const namePrefix = "faktory/"

// The states that a client reports, or that an operator wants it to be in. They only increase.
const (
	running = iota
	quiet
	terminate
)

var stateNames = []string{"", "quiet", "terminate"}

func stateOf(name string) int { return max(slices.Index(stateNames, name), running) }

// sessionOf returns the session that holds the jobs of a client, whichever server it is connected to.
func sessionOf(worker string) job.Session {
	sum := sha256.Sum256([]byte(worker))
	return job.Session(binary.BigEndian.Uint64(sum[:])>>2) + 1
}

// A client is a program that runs jobs, with all its connections to this server. It is a worker of the store.
type client struct {
	name    string // of the worker
	wid     string
	session job.Session

	anonymous bool // it gave no wid, and is one connection

	// Claims and acknowledgements that its connections make at the same time are merged.
	claims *group.Group[claimRequest, claimResult]
	acks   *group.Group[job.End, bool] // true if the job is lost

	// The mutex of clients guards the fields below.
	info        job.WorkerInfo
	conns       int
	beat        time.Time // when it sent the last BEAT
	lost        time.Time // when it had a connection last
	renewed     time.Time
	seen        time.Time // when it was renewed, by the store's clock
	state       int       // that it reports
	wantedState int       // that an operator wants
	unanswered  unansweredClaims
	unknown     map[job.ID]time.Time // jobs claimed in that time that are not known here, with the time of the check that found them first
	jobs        map[*reservation]struct{}
}

// A reservation is a job that a client runs.
type reservation struct {
	client *client
	jid    string
	begun  time.Time // when its claim began, if it is known
	until  time.Time // when it ends
	known  bool      // it was fetched at this server; others are read from the store again
	wire   []byte    // the job as it is sent to the client; nil after that

	mu  sync.Mutex // guards the job
	job *job.Job
}

// clients are the clients that have a connection to this server, or had one until a minute ago.
type clients struct {
	server *Server

	mu           sync.Mutex
	byWID        map[string]*client
	reservations map[string][]*reservation // by jid; several jobs may have the same one
	gone         []*client                 // to be removed from the list of workers
}

func (cs *clients) init(s *Server) {
	cs.server, cs.byWID, cs.reservations = s, map[string]*client{}, map[string][]*reservation{}
}

// connect registers a connection of a client.
func (cs *clients) connect(h hello) *client {
	cs.mu.Lock()
	cl := cs.byWID[h.Worker]
	known := cl != nil
	if !known {
		name := namePrefix + h.Worker
		cl = &client{name: name, wid: h.Worker, session: sessionOf(name), jobs: map[*reservation]struct{}{}}
		cl.claims = group.New(mostTogether, 1, cs.server.dispatcher.claimAll)
		cl.acks = group.New(mostTogether, 2, cs.finishAll)
		cl.info = job.WorkerInfo{Name: name, Host: h.Host, PID: h.pid(), Labels: h.Labels, Started: time.Now(), Version: "faktory"}
		cs.byWID[h.Worker] = cl
	}
	cl.conns++
	cs.mu.Unlock()
	if known {
		return cl
	}
	ctx, cancel := context.WithTimeout(context.Background(), takeOverTime)
	defer cancel()
	if err := cs.takeOver(ctx, cl); err != nil {
		cs.server.config.Logger.Warn("faktory: the jobs of a client could not be read", "wid", h.Worker, "error", err)
	}
	return cl
}

func (cs *clients) disconnect(cl *client) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cl.conns--
	cl.lost = time.Now()
}

// anonymous returns a client for a connection whose handshake named none.
func (cs *clients) anonymous() *client {
	cl := cs.connect(hello{Worker: "anonymous-" + rand.Text()[:12]})
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cl.anonymous = true
	return cl
}

// find returns the client with a wid, nil for none.
func (cs *clients) find(wid string) *client {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.byWID[wid]
}

// mayFetch records which queues a client fetches from, and reports whether it may fetch. If they are others than before, they are in the store
// within a second. Some clients give the same queues in a random order each time.
func (cs *clients) mayFetch(cl *client, queues []string) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if !slices.Equal(cl.info.Queues, queues) {
		if !sameQueues(cl.info.Queues, queues) {
			cl.renewed = time.Time{}
		}
		cl.info.Queues = slices.Clone(queues)
	}
	return max(cl.state, cl.wantedState) == running
}

// sameQueues reports whether two lists have the same queues in any order.
func sameQueues(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// add registers an attempt of a job that a client runs, in place of earlier attempts of the job.
func (cs *clients) add(r *reservation) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.addLocked(r)
}

// addLocked is add for a caller that holds cs.mu.
func (cs *clients) addLocked(r *reservation) {
	for _, other := range slices.Clone(cs.reservations[r.jid]) {
		switch {
		case other.job.ID != r.job.ID:
		case other.job.Attempt > r.job.Attempt:
			return
		default:
			cs.drop(other)
		}
	}
	r.client.jobs[r] = struct{}{}
	cs.reservations[r.jid] = append(cs.reservations[r.jid], r)
}

// remove removes a job of a client, or of any if that is nil, and returns it; nil if it is not known here.
func (cs *clients) remove(cl *client, jid string) *reservation {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, r := range cs.reservations[jid] {
		if cl == nil || r.client == cl {
			cs.drop(r)
			return r
		}
	}
	return nil
}

// peek returns what remove would, without removing it.
func (cs *clients) peek(cl *client, jid string) *reservation {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, r := range cs.reservations[jid] {
		if cl == nil || r.client == cl {
			return r
		}
	}
	return nil
}

// drop forgets a job. cs.mu is held.
func (cs *clients) drop(r *reservation) {
	same := cs.reservations[r.jid]
	i := slices.Index(same, r)
	if i < 0 {
		return
	}
	delete(r.client.jobs, r)
	if same = slices.Delete(same, i, i+1); len(same) == 0 {
		delete(cs.reservations, r.jid)
	} else {
		cs.reservations[r.jid] = same
	}
}

// ids returns the jobs that are held here for a client. The mutex is held.
func (cl *client) ids() map[job.ID]*reservation {
	ids := make(map[job.ID]*reservation, len(cl.jobs))
	for r := range cl.jobs {
		ids[r.job.ID] = r
	}
	return ids
}

// overdue reports whether a reservation of a client is over. The mutex is held.
func (cl *client) overdue(now time.Time) bool {
	for r := range cl.jobs {
		if !r.until.After(now) {
			return true
		}
	}
	return false
}

// run renews the leases of live clients, and ends the reservations that are over. It must not wait for anything else, since jobs whose lease is not
// renewed are run twice.
func (cs *clients) run(ctx context.Context) error {
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		due := cs.due(time.Now())
		_ = meanwhile.Each(ctx, meanwhile.From(slices.Values(due)), func(ctx context.Context, cl *client) error {
			if err := cs.renew(ctx, cl); err != nil && ctx.Err() == nil {
				cs.server.config.Logger.Warn("faktory: the lease of a client was not renewed", "wid", cl.wid, "error", err)
			}
			return nil
		}, meanwhile.Limit(4))
	}
}

// due returns the clients whose lease is to be renewed, and forgets those that are gone.
func (cs *clients) due(now time.Time) (due []*client) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for wid, cl := range cs.byWID {
		switch {
		case cl.gone(now):
			delete(cs.byWID, wid)
			for r := range cl.jobs {
				cs.drop(r)
			}
			if len(cs.gone) < mostGone {
				cs.gone = append(cs.gone, cl)
			}
		case now.Sub(cl.renewed) >= eachBeat || cl.overdue(now) || cl.unanswered.any():
			due = append(due, cl)
		}
	}
	return due
}

// gone reports whether a client has had no connection and sent no BEAT for a minute, or has reported that it terminates. The mutex is held.
func (cl *client) gone(now time.Time) bool {
	switch {
	case cl.conns > 0:
		return false
	case len(cl.jobs) == 0 && (cl.state == terminate || cl.anonymous):
		return true
	}
	return now.Sub(cl.beat) >= clientGone && now.Sub(cl.lost) >= clientGone
}
