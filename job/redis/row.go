package redis

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/meanwhile-go/meanwhile/job"
)

// micros writes a time as it is kept: in microseconds, "" for the zero time.
func micros(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.UnixMicro(), 10)
}

// timeOf reads what micros wrote.
func timeOf(text string) time.Time {
	us, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// span writes a duration in microseconds.
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

// jobOf reads a job: names and values by turns.
func jobOf(m rueidis.RedisMessage) (*job.Job, error) {
	fields := texts(m)
	j := &job.Job{}
	var detail, options string
	var args [4]string // the parts of short ones
	count := func(text string) int {
		n, _ := strconv.Atoi(text)
		return n
	}
	for i := 0; i+1 < len(fields); i += 2 {
		switch v := fields[i+1]; fields[i] {
		case "id":
			j.ID = idOf(v)
		case "k":
			j.Kind = v
		case "q":
			j.Queue = v
		case "a":
			j.Args = []byte(v)
		case "a0", "a1", "a2", "a3":
			args[fields[i][1]-'0'] = v
		case "s":
			j.State = job.State(v)
		case "p":
			j.Priority = count(v)
		case "n":
			j.Attempt = count(v)
		case "sp":
			j.Uncounted = count(v)
		case "di":
			j.Crashed = count(v)
		case "m":
			j.MaxAttempts = count(v)
		case "u":
			j.UniqueKey = v
		case "uf":
			us, _ := strconv.ParseInt(v, 10, 64)
			j.UniqueFor = time.Duration(us) * time.Microsecond
		case "c":
			j.Created = timeOf(v)
		case "r":
			j.RunAt = timeOf(v)
		case "st":
			j.Started = timeOf(v)
		case "f":
			j.Finished = timeOf(v)
		case "w":
			j.Worker = v
		case "x":
			j.CancelRequested = true
		case "d":
			detail = v
		case "o":
			options = v
		}
	}
	if j.Args == nil {
		j.Args = []byte(strings.Join(args[:], ""))
	}
	if err := j.DecodeDetail([]byte(detail)); err != nil {
		return nil, fmt.Errorf("detail of job %v: %w", j.ID, err)
	}
	if err := j.DecodeOptions([]byte(options)); err != nil {
		return nil, fmt.Errorf("options of job %v: %w", j.ID, err)
	}
	return j, nil
}

// jobsOf reads an array of jobs.
func jobsOf(m rueidis.RedisMessage) ([]*job.Job, error) {
	rows, err := m.ToArray()
	if err != nil {
		return nil, err
	}
	var jobs []*job.Job
	for i := range rows {
		j, err := jobOf(rows[i])
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}
