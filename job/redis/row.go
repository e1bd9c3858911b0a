package redis

import (
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/meanwhile-go/meanwhile/job"
)

// micros formats a time as it is stored: in microseconds, "" for the zero time.
func micros(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.UnixMicro(), 10)
}

// timeOf parses a time from micros.
func timeOf(text string) time.Time {
	us, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// span formats a duration in microseconds.
func span(d time.Duration) string { return strconv.FormatInt(max(d, 0).Microseconds(), 10) }

func idText(id job.ID) string { return string(id[:]) }

func idOf(text string) (id job.ID) {
	copy(id[:], text)
	return id
}

func idsOf(texts []string) []job.ID {
	var ids []job.ID
	for _, text := range texts {
		ids = append(ids, idOf(text))
	}
	return ids
}

// stateOf has the states for the letters that lua/value.lua uses.
var stateOf = map[string]job.State{"q": job.Queued, "r": job.Running, "c": job.Completed, "d": job.Discarded, "x": job.Canceled}

// Flags of a job, as in lua/value.lua.
const (
	hasKey = 1 << iota
	hasMeta
	hasArgs
)

// jobOf decodes the value of a job (see lua/keys.md), followed by its args if these are stored separately.
func jobOf(id job.ID, text string) (*job.Job, error) {
	u := &unpacker{rest: []byte(text)}
	count := func() int { return int(u.number()) }
	when := func() (t time.Time) {
		if us := u.number(); us != 0 {
			t = time.UnixMicro(us).UTC()
		}
		return t
	}
	j := &job.Job{ID: id}
	j.State, j.Attempt, j.CancelRequested = stateOf[string(u.text())], count(), u.number()&1 == 1
	u.text()   // session
	u.number() // batch
	j.Started, j.Finished, j.Worker = when(), when(), string(u.text())
	detail := u.text()
	j.Queue, j.Priority, j.Kind, j.LimitKey = string(u.text()), count(), string(u.text()), string(u.text())
	j.RunAt, j.Created = time.UnixMicro(u.number()).UTC(), when() // a due time of zero is the start of 1970
	j.MaxAttempts = count()
	flags := count()
	j.Uncounted, j.Crashed = count(), count()
	u.text() // epoch
	j.UniqueKey, j.UniqueFor = string(u.text()), time.Duration(u.number())*time.Microsecond
	u.text()   // ID of another system
	u.number() // cost
	options := u.text()
	if j.Args = u.text(); flags&hasArgs != 0 {
		j.Args = u.rest
	}
	if u.err != nil {
		return nil, fmt.Errorf("job %v: %w", j.ID, u.err)
	}
	if err := j.DecodeDetail(detail); err != nil {
		return nil, fmt.Errorf("detail of job %v: %w", j.ID, err)
	}
	if err := j.DecodeOptions(options); err != nil {
		return nil, fmt.Errorf("options of job %v: %w", j.ID, err)
	}
	return j, nil
}

// jobsOf decodes an array of alternating IDs and values.
func jobsOf(m rueidis.RedisMessage) ([]*job.Job, error) {
	rows, err := m.ToArray()
	if err != nil {
		return nil, err
	}
	jobs := make([]*job.Job, 0, len(rows)/2)
	for i := 0; i+1 < len(rows); i += 2 {
		j, err := jobOf(idOf(text(rows[i])), text(rows[i+1]))
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}
