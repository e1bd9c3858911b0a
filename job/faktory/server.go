// Package faktory serves the jobs of a store to programs in other languages, with the protocol of the Faktory job server: clients of
// Faktory for Ruby, Node, Python, Go and others enqueue and run jobs, beside handlers in Go.
//
//	server, err := faktory.New(faktory.Config{Store: store})
//	…
//	listener, err := net.Listen("tcp", "127.0.0.1:7419")
//	…
//	err = server.Serve(ctx, listener)
//
// A client's jobtype is the kind of the job and its args are the JSON array of the args. Jobs are claimed in the name of the client that
// fetches them, so that their outcome can be reported to any of several servers over one store. The guide is docs/faktory.md.
package faktory

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/group"
	"github.com/meanwhile-go/meanwhile/internal/loglimit"
	"github.com/meanwhile-go/meanwhile/job"
)

// A Config configures a Server. Only Store must be set.
type Config struct {
	Store job.Store
	// Password is the password that clients must know, at least 8 bytes. Default none: everybody who reaches the listener may do
	// everything.
	Password string
	TLS      *tls.Config // default none: connections are not encrypted
	// Flush allows the command FLUSH, which deletes every job of the store that is not running, including those of other
	// programs.
	Flush bool
	// Observe is called with the events of the attempts of clients, as Observe of a [job.Claimer]; default none.
	Observe func(job.Event)
	Logger  *slog.Logger // default slog.Default()
}

// The bounds of a server.
const (
	MaxConnections = 20_000
	MaxLine        = 16 << 20 // bytes of a command
	MaxJobs        = 10_000   // of a PUSHB
	MaxQueues      = 100      // of a FETCH
	LeastPassword  = 8        // bytes

	helloTime  = 2 * time.Second
	tlsTime    = 5 * time.Second
	lineTime   = 30 * time.Second // from the first byte of a command to its last
	writeTime  = 10 * time.Second // of an answer
	callTime   = 30 * time.Second // of all that a command does in the store
	fetchTime  = 2 * time.Second  // that FETCH waits for a job
	stopTime   = 5 * time.Second  // that commands may take when the server stops
	lingerTime = 500 * time.Millisecond
	// messageTime is how long to wait for the rest of a TLS message. It is short, since a job is waiting to be sent.
	messageTime = 10 * time.Millisecond
	acceptWait  = 100 * time.Millisecond
	gatherTime  = time.Millisecond // that a PUSH waits for others at most
)

// A Server serves the protocol. It keeps no jobs itself: another server over the same store may take over when it stops.
type Server struct {
	config     Config
	claimer    *job.Claimer
	started    time.Time
	dispatcher *dispatcher
	pushes     *group.Group[*job.Job, inserted] // of all connections
	clients    clients
	guesses    guesses
	large      chan struct{} // one for each long command that is being read

	over context.Context // canceled when no command may run any more
	end  context.CancelFunc

	handshakes, passwords loglimit.Limit // limit the logs of failed TLS handshakes and of wrong passwords

	commands atomic.Int64
	failures atomic.Int64

	mu    sync.Mutex
	conns map[*conn]struct{}
	most  int // connections
}

// mostLarge is how many long commands are read at once; others wait.
const mostLarge = 8

// New returns a server. It returns an error for a password that is too short, and panics without a store.
func New(c Config) (*Server, error) {
	if c.Store == nil {
		panic("faktory: New: give Config.Store, the jobs to serve")
	}
	if n := len(c.Password); n > 0 && n < LeastPassword {
		return nil, fmt.Errorf("faktory: the password has %d bytes: give one of at least %d", n, LeastPassword)
	}
	c.Logger = cmp.Or(c.Logger, slog.Default())
	s := &Server{
		config: c, claimer: job.NewClaimer(c.Store), started: time.Now(), large: make(chan struct{}, mostLarge), conns: map[*conn]struct{}{},
		most: MaxConnections,
	}
	s.claimer.Observe = c.Observe
	s.over, s.end = context.WithCancel(context.Background())
	s.dispatcher = newDispatcher(c.Store, s.claimer, &s.clients)
	s.pushes = group.New(mostTogether, 1, s.insertAll)
	s.pushes.Gather(gatherTime)
	s.clients.init(s)
	return s, nil
}

// Serve accepts connections until ctx is canceled; then it closes the listener, lets running commands end within 5 seconds, and returns nil. Jobs
// that clients run continue: they stay leased for a minute more, in which another server may take them over. Serve may be called only once.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx)) // commands outlive ctx by a little
	defer cancel()
	defer s.end()
	return meanwhile.Supervise(ctx, func(ctx context.Context) error {
		meanwhile.Go(ctx, s.dispatcher.run, meanwhile.Name("wait for jobs"), meanwhile.InBackground())
		meanwhile.Go(ctx, s.clients.run, meanwhile.Name("hold jobs"), meanwhile.InBackground())
		meanwhile.Go(ctx, s.clients.tidy, meanwhile.Name("take clients off"), meanwhile.InBackground())
		stop := context.AfterFunc(ctx, func() {
			_ = listener.Close()
			s.interrupt()
			time.AfterFunc(stopTime, func() {
				cancel()
				s.end()
				s.disconnect()
			})
		})
		defer stop()
		for {
			socket, err := listener.Accept()
			switch {
			case err == nil:
				meanwhile.Go(ctx, func(ctx context.Context) error {
					s.handle(ctx, work, socket)
					return nil
				}, meanwhile.Name("connection"))
			case ctx.Err() != nil:
				return nil
			case errors.Is(err, net.ErrClosed):
				return fmt.Errorf("faktory: accept connections: %w", err)
			default: // as when there are too many open files
				s.config.Logger.Warn("faktory: a connection was not accepted", "error", err)
				if meanwhile.Sleep(ctx, acceptWait) != nil {
					return nil
				}
			}
		}
	})
}

// interrupt ends all connections when their commands have ended.
func (s *Server) interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.socket.SetReadDeadline(time.Unix(1, 0))
	}
}

// disconnect closes all connections, although clients may still have to read answers.
func (s *Server) disconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = socketOf(c.socket).Close()
	}
}

// withinCall limits the time of a call of the store for commands of several connections, and ends it when no command may run any more.
func (s *Server) withinCall(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	stop := context.AfterFunc(s.over, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// enter registers a connection, unless there are too many.
func (s *Server) enter(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.conns) >= s.most {
		return false
	}
	s.conns[c] = struct{}{}
	return true
}

func (s *Server) leave(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

func (s *Server) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}
