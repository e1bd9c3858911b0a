package segment

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/logs"
)

// A checkpoint has what must still be known when the journals it came from, or all segments of a service, are deleted: the numbers of
// services and of clients. It begins with "mwlogc1\n" and ends with a crc.
const checkpointMagic = "mwlogc1\n"

const (
	maxClients = 1 << 20
	forget     = 30 * 24 * time.Hour

	maxEmpty = 10_000 // services without records whose numbers are remembered
)

// writeCheckpoint forgets clients that were not seen for long, and services without records if there are too many, and writes what is
// known of the others. The caller holds s.writing.
func (s *Store) writeCheckpoint() error {
	s.mu.Lock()
	s.forgetClients()
	s.forgetServices()
	b := []byte(checkpointMagic)
	b = binary.AppendUvarint(b, uint64(len(s.services)))
	for _, svc := range s.services {
		b = binary.AppendUvarint(b, uint64(len(svc.name)))
		b = append(b, svc.name...)
		b = binary.AppendUvarint(b, svc.kept)
	}
	b = binary.AppendUvarint(b, uint64(len(s.clients)))
	for id, c := range s.clients {
		b = append(b, id[:]...)
		b = binary.AppendUvarint(b, c.kept)
		b = binary.AppendUvarint(b, uint64(c.lastSeen))
	}
	s.mu.Unlock()
	return s.disk.WriteFile(s.path("checkpoint"), binary.LittleEndian.AppendUint32(b, checksum(b)))
}

// forgetClients forgets the clients that were not seen for 30 days, and of too many clients those that were not seen for longest.
func (s *Store) forgetClients() {
	if now := s.clientSeenNow(); now > 0 {
		for _, c := range s.clients {
			c.lastSeen = cmp.Or(c.lastSeen, now)
		}
		old := now - int64(forget/time.Second)
		maps.DeleteFunc(s.clients, func(_ logs.Client, c *client) bool { return c.lastSeen < old && c.written == c.kept })
	}
	if len(s.clients) <= maxClients {
		return
	}
	lastSeen := func(id logs.Client) int64 { return cmp.Or(s.clients[id].lastSeen, math.MaxInt64) }
	ids := slices.SortedFunc(maps.Keys(s.clients), func(a, b logs.Client) int { return cmp.Compare(lastSeen(a), lastSeen(b)) })
	for _, id := range ids[:len(ids)-maxClients] {
		if c := s.clients[id]; c.written == c.kept {
			delete(s.clients, id)
		}
	}
}

// clientSeenNow returns the time at which a client is seen now: zero if the clock is not trusted.
func (s *Store) clientSeenNow() int64 {
	now := time.Now().Unix()
	if !s.clockTrusted() {
		return 0
	}
	return now
}

// forgetServices forgets the services without records, if there are too many of them. The numbers of such a service start at 1 if it gets
// records later, as for a new one.
func (s *Store) forgetServices() {
	var empty []*service
	for _, svc := range s.services {
		if len(svc.segments) == 0 && svc.written == svc.kept && !s.inJournal(svc) {
			empty = append(empty, svc)
		}
	}
	if len(empty) <= maxEmpty {
		return
	}
	for _, svc := range empty {
		delete(s.services, svc.name)
	}
}

func (s *Store) inJournal(svc *service) bool {
	return slices.ContainsFunc(s.journals, func(j *journalFile) bool { return j.services[svc] != nil })
}

// readCheckpoint reads the checkpoint, if there is one.
func (s *Store) readCheckpoint() error {
	b, err := os.ReadFile(s.path("checkpoint"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if !s.parseCheckpoint(b) {
		s.log().Error("the checkpoint is damaged: clients of which the journal has nothing may send again what is stored already")
	}
	return nil
}

func (s *Store) parseCheckpoint(b []byte) bool {
	end := len(b) - 4
	if end < len(checkpointMagic) || string(b[:len(checkpointMagic)]) != checkpointMagic || checksum(b[:end]) != binary.LittleEndian.Uint32(b[end:]) {
		return false
	}
	r := reader{b: b[len(checkpointMagic):end], ok: true}
	for n := r.uvarint(); n > 0 && r.ok; n-- {
		name := string(r.bytes(r.uvarint()))
		kept := r.uvarint()
		if r.ok && logs.CheckService(name) == nil {
			s.service(name).kept = kept
		}
	}
	for n := r.uvarint(); n > 0 && r.ok; n-- {
		var id logs.Client
		copy(id[:], r.bytes(uint64(len(id))))
		last, lastSeen := r.uvarint(), r.uvarint()
		if r.ok {
			*s.client(id) = client{written: last, kept: last, lastSeen: int64(lastSeen)}
		}
	}
	return r.ok
}
