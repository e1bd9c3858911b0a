//go:build unix

package harm

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"time"
)

// A Clock is the clock of processes whose programs were built by [Go] and that have Env in their environment. It starts out correct. Only the date
// that [time.Now] returns jumps; its monotonic part and the times of files stay correct.
type Clock struct {
	file  *os.File
	until time.Time // when the last jump ends
}

// NewClock returns a clock that is controlled by a file, which it creates at path.
func NewClock(path string) (*Clock, error) {
	file, err := os.Create(path)
	if err == nil {
		err = file.Truncate(16)
	}
	if err != nil {
		return nil, fmt.Errorf("make a clock: %w", err)
	}
	return &Clock{file: file}, nil
}

// Env returns the environment variable that the processes need.
func (c *Clock) Env() string { return "MEANWHILE_FAULTS_CLOCK=" + c.file.Name() }

// Jump makes the clock wrong by a number of whole seconds for a while. Then the clock is correct again, however busy the machine is. It fails with
// [ErrNothing] while the clock is already wrong: it would be unclear for how long.
func (c *Clock) Jump(by, length time.Duration) error {
	now := Now()
	if now.Before(c.until) {
		return ErrNothing
	}
	return c.set(by, now.Add(length))
}

// Reset makes the clock correct again at once.
func (c *Clock) Reset() error { return c.set(0, time.Unix(0, 0)) }

func (c *Clock) set(by time.Duration, until time.Time) error {
	c.until = until
	b := binary.NativeEndian.AppendUint64(nil, uint64(by/time.Second))
	b = binary.NativeEndian.AppendUint64(b, uint64(until.UnixNano()))
	if _, err := c.file.WriteAt(b, 0); err != nil {
		return fmt.Errorf("set a clock: %w", err)
	}
	return nil
}

// DrawJump draws by how much a clock is wrong: some hours, or a year and some hours, ahead or back, or so far back that the date is before 1970.
func DrawJump(r *rand.Rand) time.Duration {
	const year = 366 * 24 * time.Hour
	hours := time.Duration(1+r.IntN(48)) * time.Hour
	return []time.Duration{hours, year + hours, -hours, -year - hours, -time.Duration(Now().UnixNano()) - hours}[r.IntN(5)]
}

// Now returns the time of the system clock, also in a process whose own [Clock] is wrong.
func Now() time.Time {
	var now syscall.Timeval
	if err := syscall.Gettimeofday(&now); err != nil {
		panic(fmt.Sprintf("harm: %v", err))
	}
	return time.Unix(now.Unix())
}
