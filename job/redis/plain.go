package redis

import (
	"bytes"

	"github.com/meanwhile-go/meanwhile/job"
)

// mostPlain is how many plain jobs one script may insert. They cost a fraction of other jobs, see mostShort.
const mostPlain = 1000

// isPlain reports whether lua/plain.lua inserts a job: it is due at once, has its args inside, and has no unique key, limit key or ID of another system.
func isPlain(j *job.Job) bool {
	return j.UniqueKey == "" && j.LimitKey == "" && j.Meta[job.MetaID] == "" && j.RunAt.IsZero() && j.Delay <= 0 && len(j.Args) <= mostInside
}

// arePlain reports whether one script can insert these jobs as plain ones.
func arePlain(jobs []*job.Job) bool {
	if len(jobs) > mostPlain {
		return false
	}
	size := 0
	for _, j := range jobs {
		if size += len(j.Args); size > mostBytes || !isPlain(j) {
			return false
		}
	}
	return true
}

// plainArgs encodes plain jobs for lua/plain.lua: one argument for each run of jobs that differ only in ID and args.
func plainArgs(jobs []*job.Job) []string {
	var args []string
	var front, back packer
	for len(jobs) > 0 {
		first, options := jobs[0], jobs[0].EncodeOptions()
		n, size := 1, len(first.Args)
		for n < len(jobs) && isLike(jobs[n], first, options) {
			size += len(jobs[n].Args)
			n++
		}
		front, back = front[:0], back[:0]
		front.second(first)
		back.third(first, 0, options)
		run := make(packer, 0, 64+len(first.Queue)+len(first.Kind)+len(front)+len(back)+24*n+size)
		run.array(6 + n)
		run.text(first.Queue)
		run.text(first.Kind)
		run.number(int64(first.Priority))
		run.bytes(front)
		run.bytes(back)
		run = run.head(16 * n)
		for _, j := range jobs[:n] {
			run = append(run, j.ID[:]...)
		}
		for _, j := range jobs[:n] {
			run.packed(j.Args)
		}
		args, jobs = append(args, string(run)), jobs[n:]
	}
	return args
}

// isLike reports whether two jobs differ only in ID and args.
func isLike(j, other *job.Job, options []byte) bool {
	return j.Queue == other.Queue && j.Kind == other.Kind && j.Priority == other.Priority && j.MaxAttempts == other.MaxAttempts && j.Cost == other.Cost &&
		bytes.Equal(j.EncodeOptions(), options)
}
