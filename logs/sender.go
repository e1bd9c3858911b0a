package logs

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/clockcheck"
	"github.com/meanwhile-go/meanwhile/internal/cond"
	"github.com/meanwhile-go/meanwhile/internal/logwire"
	"github.com/meanwhile-go/meanwhile/process"
)

// SpoolOff as the Spool of [SenderOptions] means that there is none.
const SpoolOff = "off"

// SenderOptions are the options of a [Sender]. The zero value works.
type SenderOptions struct {
	// Service names the program in its records; [CheckService] defines which names are valid. The default is the name of the
	// program's file, as [RepairService] returns it. A record that has a service keeps it.
	Service string

	Key string      // for a server that asks for one. A key in the address takes precedence
	TLS *tls.Config // for addresses with tls://. The default trusts the roots of the system

	// Spool is the folder for records that the server has not acknowledged while it is unreachable. Several processes may share
	// it: what a dead process has left is sent by another, or by the next. The default is meanwhile/spool and the service, in the
	// folder that os.UserCacheDir returns; SpoolOff means none.
	Spool string

	// SpoolBytes bounds what this process keeps in the spool, and what dead processes have left. When it is reached, the oldest
	// records are dropped. The default is 256 MiB.
	SpoolBytes int64

	// SpoolAge is how long records stay in the spool before they are dropped. The default is 7 days.
	SpoolAge time.Duration

	// MemoryBytes bounds the records in memory, encoded. From half of it on, records go to the spool. When memory is full,
	// because there is no spool, or its disk is full or too slow, new records are dropped. The default is 8 MiB.
	MemoryBytes int

	// Linger is how long a record waits for others to be sent with it. The default is 5 ms; a negative value means not to wait.
	Linger time.Duration

	// Compress is "zstd" or "none". The default is none to this machine, otherwise zstd.
	Compress string

	// OnError is called with problems: no connection, no spool. It is called at most once a minute, by one goroutine at a time, and
	// must not wait for this sender. The default prints a line to os.Stderr.
	OnError func(error)

	dial func(ctx context.Context) (net.Conn, error) // of tests
}

// A Sender sends records to a server and loses none while memory or spool have space: unacknowledged records stay in memory or in the
// spool, and are sent again, in order, to be kept once. Dropped records are counted, and reported by records of the Sender's service
// with the attribute logs.dropped as soon as there is a connection, even by the next process with the same spool. Its methods may be
// called by many goroutines at once.
//
// A [Handler] sends through a Sender; programs that have records from elsewhere can use one directly.
type Sender struct {
	o            SenderOptions
	to           target
	id           Client
	zstd         *zstd.Encoder // nil: nothing is compressed
	spool        *spool        // nil: none
	clockTrusted func() bool   // reports whether the clock can be trusted; asked before spools are dropped for their age
	cancel       context.CancelCauseFunc
	over         chan struct{} // closed when the tasks have ended
	closeDone    chan struct{} // closed when Close is done

	unregister func() // from process.AtExit

	ready     chan struct{} // has a value when there may be more to send
	spill     chan struct{} // has a value when the spool has something to do
	rush      chan struct{} // has a value when a caller waits for a connection
	connected chan struct{} // has a value when a connection was made, for the task that takes over abandoned spools
	takenOver chan struct{} // closed when the spools of dead processes were taken over once, with a connection
	owed      chan struct{} // has a value when there may be something to report

	drops    *dropCount    // that of the spool, if there is one
	reporter chan struct{} // has a value while reports are sent

	shardSet

	mu            sync.Mutex
	collected     uint64                   // the ticket of the newest record that is not in a shard
	spare         [shardCount]shardRecords // receives the records of the shards while they are collected
	open          *outBatch                // the batch to which records are added; nil for none
	sealed        []*outBatch              // batches with numbers, the oldest first; those in the spool are older
	sent          int                      // how many of sealed were sent on this connection
	free          []*outBatch              // batches whose memory is used again
	number        uint64                   // of the last sealed record
	acked         uint64                   // up to which the server has all that was not dropped
	inflight      []inFlightBatch          // sent on this connection, not acknowledged
	inflightBytes int                      // bytes of it
	hurry         bool                     // do not linger: a caller waits
	closed        bool
	online        bool          // there is a connection, and it was welcomed
	trouble       error         // why the last connection, or attempt to connect, ended; nil before the first has ended
	changed       chan struct{} // closed and replaced when something was acknowledged, dropped, or went wrong
	stats         SenderStats

	errors errorReport
}

// An inFlightBatch is a batch that was sent and is not acknowledged.
type inFlightBatch struct {
	last uint64
	size int
}

// SenderStats reports what a [Sender] has done.
type SenderStats struct {
	Added        int64  // records accepted
	Dropped      int64  // records not accepted, or dropped from the spool, including that of an earlier process
	Acknowledged int64  // records the server has, as far as their numbers show
	Memory       int    // bytes of records in memory
	Spooled      int64  // bytes in the spool
	Online       bool   // there is a connection
	Client       Client // the identity
}

// NewSender returns a sender to the server at tcp://host:port or tls://host:port; ?key= may follow. The port's default is
// 6767. It connects in the background, and reconnects as needed; an error means a mistake in the address or the options.
func NewSender(address string, o *SenderOptions) (*Sender, error) {
	if o == nil {
		o = &SenderOptions{}
	}
	s := &Sender{
		o: o.withDefaults(), id: NewClient(), clockTrusted: clockcheck.New().Trusted, over: make(chan struct{}), closeDone: make(chan struct{}), changed: make(chan struct{}),
		ready: make(chan struct{}, 1), spill: make(chan struct{}, 1), connected: make(chan struct{}, 1),
		rush: make(chan struct{}, 1), takenOver: make(chan struct{}), owed: make(chan struct{}, 1), reporter: make(chan struct{}, 1),
	}
	if err := CheckService(s.o.Service); err != nil {
		return nil, err
	}
	var err error
	if s.to, err = parseTarget(address, o.TLS, o.Key); err != nil {
		return nil, err
	}
	if s.o.dial == nil {
		s.o.dial = s.to.dial
	}
	switch s.o.Compress {
	case "zstd", "":
		if s.o.Compress != "" || !s.to.local {
			s.zstd = logwire.NewCompressor()
		}
	case "none":
	default:
		return nil, fmt.Errorf("compress is %q; it is zstd or none", s.o.Compress)
	}
	s.errors.notify = s.o.OnError
	s.shardSet.prepare()
	if s.o.Spool != SpoolOff {
		s.openSpool()
	}
	s.drops = newDropCount(s.id, "")
	if s.spool != nil {
		s.drops = s.spool.drops
	}
	s.drops.serve(s.o.Service)
	s.stats.Client = s.id
	ctx, cancel := context.WithCancelCause(context.Background())
	s.cancel = cancel
	s.unregister = process.AtExit(s.Close)
	go s.run(ctx) // the one goroutine of this package outside of a task: there is no ctx yet
	return s, nil
}

func (o SenderOptions) withDefaults() SenderOptions {
	if o.Service == "" {
		o.Service, _ = RepairService(filepath.Base(os.Args[0]))
	}
	o.SpoolBytes = cmp.Or(o.SpoolBytes, 256<<20)
	o.SpoolAge = cmp.Or(o.SpoolAge, 7*24*time.Hour)
	o.MemoryBytes = cmp.Or(o.MemoryBytes, 8<<20)
	o.Linger = cmp.Or(o.Linger, 5*time.Millisecond)
	return o
}

// openSpool sets the spool, unless its folder cannot be determined. The folder is created when something is written.
func (s *Sender) openSpool() {
	folder := s.o.Spool
	if folder == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			s.errors.report(fmt.Errorf("no spool: %w", err))
			return
		}
		folder = filepath.Join(cache, "meanwhile", "spool", folderName(s.o.Service))
	}
	s.spool = newSpool(folder, s.id, s.o.SpoolBytes)
}

// run runs the tasks of the sender, in a tree of their own.
func (s *Sender) run(ctx context.Context) {
	defer close(s.over)
	_ = meanwhile.Supervise(ctx, func(ctx context.Context) error {
		if s.spool != nil {
			meanwhile.Go(ctx, s.spilling, meanwhile.Name("spool"))
			meanwhile.Go(ctx, s.takingOver, meanwhile.Name("take over"))
		}
		meanwhile.Go(ctx, s.reporting, meanwhile.Name("report"))
		return s.delivering(ctx)
	}, meanwhile.Name("logs "+s.to.address))
}

// Client returns the identity under which the server knows this sender.
func (s *Sender) Client() Client { return s.id }

// Stats returns what the sender has done so far.
func (s *Sender) Stats() SenderStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.collect()
	s.countDrops()
	stats := s.stats
	stats.Memory, stats.Online, stats.Acknowledged = int(s.used.Load()), s.online, int64(s.acked)
	if s.spool != nil {
		stats.Spooled = s.spool.bytes()
	}
	return stats
}

// Add queues a record, without waiting. It copies the record; a zero time becomes the current time. An error means that the record was
// dropped: ErrFull or ErrClosed. A service without a valid name goes to the server as it is, which stores the record under the one that
// [RepairService] makes of it.
func (s *Sender) Add(v *View) error {
	e := newEncoding()
	defer e.free()
	service, record, at := e.encode(v)
	return s.put(service, record, at)
}

// Send queues a record, and waits while there is no buffer space for it, until ctx is canceled. It is for callers that can block the
// writer of the records (backpressure), such as the reader of a pipe.
func (s *Sender) Send(ctx context.Context, v *View) error {
	e := newEncoding()
	defer e.free()
	service, record, at := e.encode(v)
	return s.wait(ctx, service, record, at, nil)
}

// Flush returns when the server has acknowledged everything that was accepted before the call, except records that were dropped because
// memory and spool were full: that is not an error here, see Stats. If ctx is canceled first, a [*PendingError] says how much is not
// acknowledged.
func (s *Sender) Flush(ctx context.Context) error {
	s.mu.Lock()
	s.collect()
	s.seal()
	n := s.number
	s.mu.Unlock()
	return s.awaitSettled(ctx, n, func() bool { return false })
}

// Close sends what it can, until ctx is canceled or the server is found to be unreachable: the records it accepted, those that dead
// processes have left in the spool's folder, and the reports of dropped records. The rest stays in the spool, and the next process with
// this folder sends it. An error reports what could be neither sent nor spooled. Records that come after Close are dropped, and counted.
func (s *Sender) Close(ctx context.Context) error {
	s.mu.Lock()
	again := s.closed
	s.collectAll(true)
	s.seal()
	s.closed = true
	n := s.number
	s.broadcast() // callers that wait for buffer space get none
	s.mu.Unlock()
	cond.Signal(s.ready)
	if again {
		select {
		case <-s.closeDone:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	defer close(s.closeDone)
	s.unregister()
	_ = s.awaitSettled(ctx, n, func() bool { return s.spool != nil && !s.online && s.trouble != nil })
	s.waitForTakeover(ctx)
	s.reportAll(ctx)
	s.cancel(ErrClosed)
	<-s.over
	return s.putAway()
}

// A PendingError reports how many records are not acknowledged.
type PendingError struct {
	Memory  int64 // records in memory
	Spooled int64 // records in the spool
	Cause   error // why the wait ended
}

// Error says how many.
func (p *PendingError) Error() string {
	return fmt.Sprintf("%d records are not acknowledged, %d of them in the spool: %v", p.Memory+p.Spooled, p.Spooled, p.Cause)
}

// Unwrap returns the cause.
func (p *PendingError) Unwrap() error { return p.Cause }

// awaitSettled waits until everything up to a number is acknowledged or dropped, or until enough, which is called with the mutex held,
// returns true.
func (s *Sender) awaitSettled(ctx context.Context, n uint64, enough func() bool) error {
	cond.Signal(s.rush)
	for {
		s.mu.Lock()
		if s.settled(n) || enough() {
			s.hurry = false
			s.mu.Unlock()
			return nil
		}
		s.hurry = true
		changed := s.changed
		s.mu.Unlock()
		cond.Signal(s.ready)
		select {
		case <-changed:
		case <-ctx.Done():
			return s.pending(context.Cause(ctx))
		}
	}
}

func (s *Sender) settled(n uint64) bool {
	if s.acked >= n {
		return true
	}
	if len(s.sealed) > 0 && s.sealed[0].First <= n {
		return false
	}
	return s.spool == nil || s.spool.first(s.acked) > n
}

func (s *Sender) pending(cause error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.collect()
	p := &PendingError{Cause: cause}
	for _, b := range s.sealed {
		p.Memory += int64(b.Count)
	}
	if s.open != nil {
		p.Memory += int64(s.open.Count)
	}
	if s.spool != nil {
		p.Spooled = s.spool.records(s.acked)
	}
	return p
}
