package segment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/clockcheck"
	"github.com/meanwhile-go/meanwhile/internal/datafolder"
	"github.com/meanwhile-go/meanwhile/internal/journal"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// A Store keeps records in a directory. It is made by [Open], and its methods may be called concurrently.
//
// It deletes nothing because of its age before the clock has run for ten minutes without a jump: a machine that starts with a
// wrong date would lose everything. The age of what it stored before that counts from then on.
type Store struct {
	dir  string
	cfg  Config
	disk datafolder.Disk

	journalFolder journal.Folder

	lock     *datafolder.FolderLock
	readOnly bool

	blockBytes int // the constant, except in tests

	work         []*meanwhile.Task[struct{}]
	stopped      chan struct{} // closed when journals are no longer converted
	due          chan struct{} // something is to be converted
	clockTrusted func() bool   // reports whether the clock can be trusted; asked before anything is deleted for its age

	writing sync.Mutex // taken before mu; guards what is written and not visible yet
	closed  bool
	table   []byte // of a frame of the journal
	parts   [][]byte

	mu            sync.Mutex
	active        *journalFile // set with writing as well
	services      map[string]*service
	clients       map[logs.Client]*client
	journals      []*journalFile // by their numbers; the last one is active
	unsettled     []*commit      // written, and not visible; the oldest first
	appended      chan struct{}
	segmentsBuilt chan struct{} // closed when a journal was converted, or could not be
	convertErr    error
	shut          bool
}

var _ storage.Store = (*Store)(nil)

// Open opens the store in a directory, which it creates if needed, and cuts off what a killed process or a power failure has left
// unfinished. Background work runs in tasks of ctx's scope. It ends with that scope or with Close; in between, the store can be used, and
// journals are bounded only by the disk. Another store in the same directory is an error.
func Open(ctx context.Context, dir string, cfg Config) (*Store, error) {
	s := newStore(dir, cfg)
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("open logs: %w", err)
	}
	s.work = append(s.work, meanwhile.Go(ctx, s.convertJournals, meanwhile.InBackground(), meanwhile.Name("convert journals")))
	if cfg.Sync == Interval {
		s.work = append(s.work, meanwhile.Every(ctx, s.cfg.SyncEvery, func(ctx context.Context) error {
			if err := s.Sync(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, logs.ErrClosed) {
				s.log().Error("the journal is not on disk", "error", err)
			}
			return nil
		}, meanwhile.InBackground(), meanwhile.Name("sync journal")))
	}
	return s, nil
}

// OpenReadOnly opens a store for searches while no process writes to it. It changes nothing; incomplete data is skipped.
func OpenReadOnly(dir string, cfg Config) (*Store, error) {
	s := newStore(dir, cfg)
	s.readOnly, s.journalFolder.ReadOnly = true, true
	close(s.stopped)
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("open logs: %w", err)
	}
	return s, nil
}

func newStore(dir string, cfg Config) *Store {
	s := &Store{
		dir: dir, cfg: cfg.withDefaults(), blockBytes: blockBytes, services: make(map[string]*service), clients: make(map[logs.Client]*client),
		stopped: make(chan struct{}), due: make(chan struct{}, 1), clockTrusted: clockcheck.New().Trusted, appended: make(chan struct{}), segmentsBuilt: make(chan struct{}),
	}
	s.journalFolder = journal.Folder{Dir: s.path("journal"), Magic: journalMagic, Disk: &s.disk, Durable: cfg.Sync == Always, Logger: s.log()}
	return s
}

// Close syncs and closes the files. Running searches end with what they have open.
func (s *Store) Close() error {
	s.mu.Lock()
	was := s.shut
	s.shut = true
	if !was {
		close(s.appended) // wakes followers
		s.appended = make(chan struct{})
	}
	s.mu.Unlock()
	if was {
		return logs.ErrClosed
	}
	for _, task := range s.work {
		task.Cancel(logs.ErrClosed)
		_, _ = task.Wait(context.Background())
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	s.closed = true
	var err error
	if !s.readOnly {
		err = errors.Join(s.repair(), s.syncWritten(context.Background()))
		// The journals say the same, so a full disk does not make it a failure.
		if err := s.writeCheckpoint(); err != nil {
			s.log().Warn("the checkpoint is not written at the end", "error", err)
		}
	}
	s.letGo()
	return err
}

// letGo closes the files and releases the lock.
func (s *Store) letGo() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.journals {
		j.Release()
	}
	s.journals = nil
	if s.lock != nil {
		_ = s.lock.Close()
	}
}

func (s *Store) usable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return logs.ErrClosed
	}
	return nil
}

// Last returns the highest number of a client's records that Append has returned for.
func (s *Store) Last(ctx context.Context, id logs.Client) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return 0, logs.ErrClosed
	}
	if c := s.clients[id]; c != nil {
		c.lastSeen = s.clientSeenNow()
		return c.kept, nil
	}
	return 0, nil
}

func (s *Store) log() *slog.Logger { return s.cfg.Logger.With("dir", s.dir) }

func (s *Store) path(parts ...string) string {
	return filepath.Join(append([]string{s.dir}, parts...)...)
}

// converting reports whether a task converts journals.
func (s *Store) converting() bool {
	select {
	case <-s.stopped:
		return false
	default:
		return true
	}
}
