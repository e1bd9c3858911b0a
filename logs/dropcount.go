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

// A dropCount counts the records of one identity that were dropped and not reported yet. It is stored in a file of its own beside those of
// the spool: a spool drops its oldest files, and a report in one of them would be dropped as well.
//
// Reports have an identity and numbers of their own, and there is one report at a time. So the server recognizes a report that is resent
// after a kill of either process by its number, like any record.
//
//	<folder>/<identity>/drops   two states, of which the newer one counts, so that one is intact at any time
type dropCount struct {
	id   Client // of the reports
	path string // empty: the count is in memory only

	mu       sync.Mutex
	state    dropState
	saves    uint64   // how often the state was written
	dirty    bool     // whether the file has an older state
	unsynced bool     // whether the file was written and not synced
	out      *os.File // nil before it is first written
}

// A dropState is the content of the file.
type dropState struct {
	unreported int64  // records that no report has counted
	through    uint64 // files of the spool with numbers up to this one are dropped
	report     uint64 // the number of the last report
	amount     int64  // the number of records in it; 0 if the server has it
	service    string // of the reports
}

const (
	dropFile  = "drops"
	dropMagic = "mwdrops1"
	dropSlot  = 256 // bytes of a state
)

// newDropCount returns the count of an identity whose spool is in the folder. Without a spool the folder is empty.
func newDropCount(id Client, dir string) *dropCount {
	d := &dropCount{}
	sum := sha256.Sum256(append([]byte("meanwhile: dropped records of "), id[:]...))
	copy(d.id[:], sum[:])
	if dir != "" {
		d.path = filepath.Join(dir, dropFile)
	}
	return d
}

// load reads the state of a process that has ended. A file without a valid state is from a process that was killed while it created it.
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

// write overwrites the older of the two states in the file. The mutex is held. After the first time it needs no more disk space.
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

// addFiles counts the records of files with numbers up to through, which are deleted afterwards. If the write to disk fails, the count is
// in the file when it is next written.
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

// nextReport returns the next report to send, zero for none. As long as the server does not have a report, it is the same one.
func (d *dropCount) nextReport() (number uint64, amount int64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state.amount == 0 && d.state.unreported > 0 {
		before := d.state
		d.state.report++
		d.state.amount, d.state.unreported = d.state.unreported, 0
		// The file has to be written first: otherwise another report could get the same number after a kill. Without a folder no
		// process continues after a kill.
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
	_ = d.write() // if it fails, the same report may be sent again, which the server recognizes
}

// serve sets the service of the reports, unless an earlier process has set it.
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

// owes reports whether there are dropped records to report.
func (d *dropCount) owes() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state.unreported > 0 || d.state.amount > 0
}

// unsaved reports whether the file has to be written or synced.
func (d *dropCount) unsaved() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.path != "" && (d.dirty || d.unsynced)
}

// save writes the state if the file has an older one. The folder must exist.
func (d *dropCount) save() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.dirty {
		return nil
	}
	return d.write()
}

// sync syncs the file if it was written.
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

// moveTo adds the unreported count of a process that has ended to another count of the same service, which save has to write to a file, so
// that the folder of that process can be deleted. After a kill between the two writes it is reported twice. A count with an unfinished
// report is not moved.
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
	d.out, d.path = nil, "" // records that are dropped from now on, such as after Close, are counted in memory only
	return out.Close()
}
