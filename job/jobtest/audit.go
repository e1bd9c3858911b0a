package jobtest

import (
	"slices"
	"strconv"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

var auditPromises = []promise{
	{"an action is audited as it was", func(f *fixture) {
		before := f.renew("clock", long).Now
		want := job.AuditEntry{
			Actor: "ann", Via: "dashboard", Action: "move to queue näh\"\\", Target: "kind=k\u2028 <b>", Changed: 1 << 40, Error: "half of it",
		}
		f.audit(want)
		f.audit(job.AuditEntry{Action: "second"})
		got := f.audited(0, 10)
		if len(got) != 2 || got[0].Action != "second" || got[0].N <= got[1].N {
			f.Fatalf("audited %+v, want the second first, with the higher number", got)
		}
		f.near("the time of the action", got[1].Time, before)
		want.N, want.Time = got[1].N, got[1].Time
		if got[1] != want {
			f.Errorf("audited %+v, want %+v", got[1], want)
		}
	}},
	{"the audit log is read in pages, the newest first", func(f *fixture) {
		var entries []job.AuditEntry
		for i := range 7 {
			entries = append(entries, job.AuditEntry{Action: strconv.Itoa(i)})
		}
		f.audit(entries[:4]...)
		f.audit(entries[4:]...)
		var got []string
		for before, page := int64(0), 0; ; page++ {
			found := f.audited(before, 3)
			for _, e := range found {
				got = append(got, e.Action)
			}
			if len(found) < 3 {
				break
			}
			before = found[len(found)-1].N
		}
		if want := []string{"6", "5", "4", "3", "2", "1", "0"}; !slices.Equal(got, want) {
			f.Errorf("audited %v, want %v", got, want)
		}
		if got := f.audited(0, 0); len(got) != 0 {
			f.Errorf("a page with a limit of 0 has %+v", got)
		}
	}},
	{"the audit log keeps so many entries", func(f *fixture) {
		entries := make([]job.AuditEntry, job.MostAudited+5)
		for i := range entries {
			entries[i].Action = strconv.Itoa(i)
		}
		f.audit(entries[:10]...)
		f.audit(entries[10:]...)
		got := f.audited(0, len(entries))
		if len(got) != job.MostAudited || got[len(got)-1].Action != "5" {
			f.Errorf("%d entries are kept, the oldest %+v, want %d from 5 on", len(got), got[len(got)-1], job.MostAudited)
		}
	}},
	{"prune removes old entries of the audit log", func(f *fixture) {
		now := f.renew("clock", long).Now
		old, kept := now.Add(-job.AuditKept-time.Hour).Truncate(time.Second), now.Add(-job.AuditKept+time.Hour).Truncate(time.Second)
		f.audit(job.AuditEntry{Action: "old", Time: old}, job.AuditEntry{Action: "kept", Time: kept})
		if got := f.audited(0, 10); len(got) != 2 || !got[0].Time.Equal(kept) || !got[1].Time.Equal(old) {
			f.Errorf("audited %+v, want the given times", got)
		}
		f.prune(0, nil, 10)
		if got := f.audited(0, 10); len(got) != 1 || got[0].Action != "kept" {
			f.Errorf("after prune the audit log has %+v", got)
		}
	}},
}

func (f *fixture) audit(entries ...job.AuditEntry) {
	f.Helper()
	if err := f.Audit(f.ctx, entries...); err != nil {
		f.Fatalf("audit: %v", err)
	}
}

func (f *fixture) audited(before int64, limit int) []job.AuditEntry {
	f.Helper()
	found, err := f.Audited(f.ctx, before, limit)
	if err != nil {
		f.Fatalf("audited: %v", err)
	}
	return found
}
