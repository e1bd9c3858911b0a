package logs

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"sync"

	"github.com/meanwhile-go/meanwhile/internal/logwire"
)

// A dropCount is how many records of one identity were dropped and are still to be reported. It is kept apart from the records, in a
// file of its own beside those of the spool: what a spool drops are its oldest files, and a report that lay in them would go as well.
//
// Reports have an identity and numbers of their own, and there is one report at a time: the server knows one that comes again, after
// a kill of either process, by its number, as it knows any record.
//
//	<folder>/<identity>/drops   two states, of which the later one counts, so that one is whole at any time
type dropCount struct {
	id   Client // of the reports
	path string // empty: it lives in memory alone

	mu       sync.Mutex
	state    dropState
	saves    uint64   // how often the state was written
	dirty    bool     // it is not as in the file
	unsynced bool     // the file may not be on disk
	out      *os.File // nil before it is first written
}

// A dropState is what the file keeps.
type dropState struct {
	unreported int64  // records that no report has said
	through    uint64 // files of the spool with numbers up to this one are dropped
	report     uint64 // the number of the last report
	amount     int64  // what that says; 0 when the server has it
	service    string // of the reports
}

const (
	dropFile  = "drops"
	dropMagic = "mwdrops1"
	dropSlot  = 256 // bytes of a state
)

// newDropCount returns the count of an identity, whose spool is in that folder; empty for none.
func newDropCount(id Client, dir string) *dropCount {
	d := &dropCount{}
	sum := sha256.Sum256(append([]byte("meanwhile: dropped records of "), id[:]...))
	copy(d.id[:], sum[:])
	if dir != "" {
		d.path = filepath.Join(dir, dropFile)
	}
	return d
}

// load reads the state of a dead process. One of which nothing can be used is that of a process killed as it made the file.
func (d *dropCount) load() error {
	data, err := os.ReadFile(d.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("read what was dropped: %w", err)
	}
	for i := range 2 {
		slot := data[min(i*dropSlot, len(data)):min((i+1)*dropSlot, len(data))]
		if state, saves, ok := readDropState(slot); ok && saves > d.saves {
			d.state, d.saves = state, saves
		}
	}
	return nil
}

func readDropState(slot []byte) (s dropState, saves uint64, ok bool) {
	const fixed = len(dropMagic) + 5*8
	if len(slot) < dropSlot || string(slot[:len(dropMagic)]) != dropMagic ||
		crc32.Checksum(slot[:dropSlot-4], crc32.MakeTable(crc32.Castagnoli)) != binary.LittleEndian.Uint32(slot[dropSlot-4:]) {
		return s, 0, false
	}
	number := func(i int) uint64 { return binary.LittleEndian.Uint64(slot[len(dropMagic)+8*i:]) }
	service, _, ok := logwire.Truncated(slot[fixed : dropSlot-4])
	s = dropState{unreported: int64(number(1)), through: number(2), report: number(3), amount: int64(number(4)), service: string(service)}
	return s, number(0), ok && s.unreported >= 0 && s.amount >= 0
}

// write writes the state over the older of the two. The mutex is held. It needs no more room on the disk, once it was written.
func (d *dropCount) write() error {
	d.dirty = true
	if d.path == "" {
		return nil
	}
	if d.out == nil {
		out, err := os.OpenFile(d.path, os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("write what was dropped: %w", err)
		}
		d.out = out
	}
	slot := append(make([]byte, 0, dropSlot), dropMagic...)
	for _, n := range []uint64{d.saves + 1, uint64(d.state.unreported), d.state.through, d.state.report, uint64(d.state.amount)} {
		slot = binary.LittleEndian.AppendUint64(slot, n)
	}
	slot = logwire.AppendShort(slot, d.state.service)[:dropSlot]
	binary.LittleEndian.PutUint32(slot[dropSlot-4:], crc32.Checksum(slot[:dropSlot-4], crc32.MakeTable(crc32.Castagnoli)))
	if _, err := d.out.WriteAt(slot, int64(d.saves%2)*dropSlot); err != nil {
		return fmt.Errorf("write what was dropped: %w", err)
	}
	d.saves++
	d.dirty, d.unsynced = false, true
	return nil
}

// add counts records that were dropped from memory. They are in the file when it is next written.
func (d *dropCount) add(n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state.unreported += n
	d.dirty = true
}

// addFiles counts the records of files that are deleted after it, with numbers up to through. What a disk does not take is in the file
// when it is next written.
func (d *dropCount) addFiles(n int64, through uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state.unreported += n
	d.state.through = max(d.state.through, through)
	_ = d.write()
}

// dropped reports whether a file with numbers up to last was dropped by a process that was killed before it had deleted it.
func (d *dropCount) dropped(last uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return last <= d.state.through
}

// begin returns the report that is to be sent, which is the one before as long as the server does not have that; zero for none.
func (d *dropCount) begin() (number uint64, amount int64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state.amount == 0 && d.state.unreported > 0 {
		before := d.state
		d.state.report++
		d.state.amount, d.state.unreported = d.state.unreported, 0
		// A report that no file knows could get the number of another one after a kill. Without a folder there is nothing that a
		// process could go on with after it.
		if err := d.write(); err != nil && !errors.Is(err, os.ErrNotExist) {
			d.state = before
			return 0, 0, err
		}
	}
	return d.state.report, d.state.amount, nil
}

// reported is called when the server has a report.
func (d *dropCount) reported(number uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if number != d.state.report || d.state.amount == 0 {
		return
	}
	d.state.amount = 0
	_ = d.write() // if it fails, the same report comes again, and the server knows it
}

// serve says which service reports are of, unless a process before has said so.
func (d *dropCount) serve(service string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state.service = cmp.Or(d.state.service, service)
}

// service returns the service of the reports.
func (d *dropCount) service() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state.service
}

// owes reports whether there is something to report.
func (d *dropCount) owes() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state.unreported > 0 || d.state.amount > 0
}

// unsaved reports whether the file is to be written or synced.
func (d *dropCount) unsaved() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.path != "" && (d.dirty || d.unsynced)
}

// save writes what is not in the file yet. The folder must be there.
func (d *dropCount) save() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.dirty {
		return nil
	}
	return d.write()
}

// sync brings to disk what was written.
func (d *dropCount) sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.out == nil || !d.unsynced {
		return nil
	}
	if err := d.out.Sync(); err != nil {
		return fmt.Errorf("sync what was dropped: %w", err)
	}
	d.unsynced = false
	return nil
}

// moveTo adds what a dead process has still to report to another count of the same service, which is to be in a file as well, so that
// the folder of the dead one can go. A kill between the two has it reported twice. One that has begun a report has to finish it.
func (d *dropCount) moveTo(other *dropCount, save func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state.amount > 0 || d.state.unreported == 0 || d.state.service != other.state.service {
		return nil
	}
	other.add(d.state.unreported)
	if err := save(); err != nil {
		other.add(-d.state.unreported)
		return err
	}
	d.state.unreported = 0
	return d.write()
}

// close closes the file.
func (d *dropCount) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.out == nil {
		return nil
	}
	out := d.out
	d.out, d.path = nil, "" // what is dropped from now on, such as after Close, is in no file
	return out.Close()
}
