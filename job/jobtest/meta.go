package jobtest

import (
	"fmt"
	"slices"

	"github.com/meanwhile-go/meanwhile/job"
)

// lookalikes are Metas whose encodings contain that of an entry which they do not have, or nearly so.
var lookalikes = []map[string]string{
	{"tenant": "acme"},
	{"tenant": "acme", "x": "y", "zone": "é🜁"},
	{"tenant": `acme","x":"y`},
	{"tenant": `acme\`, "x": "y"},
	{`not"tenant`: "acme"},
	{`"tenant`: "acme"},
	{`x,"tenant`: "acme", `{"x`: "y"},
	{`x{"tenant`: "acme"},
	{`x\"tenant`: "acme"},
	{"a": `"tenant":"acme"`, "b": `{"tenant":"acme"}`, "c": `,"tenant":"acme",`},
	{"a": "\x00\n<&>\u2028\x7f", `k\`: `v\`, "ключ": `"`},
	{"a,": ":", "b": "c"}, // between the two quotation marks before and after :, that is no entry
	{"a{": ",", ",b": ":"},
	{":": ",", ",": ":", "}": "]"},
	{job.MetaID: "1", `"jid`: "2", "tenant": "acme"},
	{`"jid`: "1"},
	{`j"id`: "1", `jid"`: "2", job.MetaID: "3"},
}

var metaPromises = []promise{
	{"only the jobs that have an entry of meta match it", func(f *fixture) {
		jobs := make([]*job.Job, len(lookalikes))
		for i, meta := range lookalikes {
			var opts []job.EnqueueOption
			for key, value := range meta {
				opts = append(opts, job.Meta(key, value))
			}
			jobs[i] = f.job(opts...)
		}
		f.insert(jobs...)
		claimed := f.take("w", len(jobs)*2/3)
		for _, j := range claimed[:len(jobs)/3] {
			f.finish(j, job.Completed)
		}
		filters := []map[string]string{{":": ","}, {":": ":"}, {"tenant": "acme", "x": "y"}, {"tenant": "acme", job.MetaID: "1"}, {"": ":"}, {"x": "\xff"}}
		for _, meta := range lookalikes {
			for key, value := range meta {
				filters = append(filters, map[string]string{key: value})
			}
		}
		for _, meta := range filters {
			var want []job.ID
			for i, j := range slices.Backward(jobs) {
				if hasMeta(lookalikes[i], meta) {
					want = append(want, j.ID)
				}
			}
			f.sameIDs(fmt.Sprintf("listed by %q", meta), ids(f.list(job.Filter{Meta: meta})), want)
			f.sameIDs(fmt.Sprintf("listed by %q and kind", meta), ids(f.list(job.Filter{Meta: meta, Kinds: []string{"k"}})), want)
		}
	}},
	{"an action changes only the jobs that have an entry of meta", func(f *fixture) {
		wanted := f.insertFinished(job.Completed, job.Meta("tenant", "acme"))
		others := []*job.Job{f.insertFinished(job.Completed, job.Meta(`not"tenant`, "acme")), f.insertNew(job.Meta(`not"tenant`, "acme"))}
		for _, kinds := range [][]string{nil, {"k"}} {
			if got, want := f.applied(job.Filter{Meta: map[string]string{"tenant": "acme"}, Kinds: kinds, Limit: 10}, job.ActionRetry), (job.ActionResult{Changed: 1}); got != want {
				f.Errorf("retried %+v, want %+v", got, want)
			}
		}
		if got, want := f.applied(job.Filter{Meta: map[string]string{"tenant": "acme"}, Limit: 10}, job.ActionDelete), (job.ActionResult{Changed: 1}); got != want {
			f.Errorf("deleted %+v, want %+v", got, want)
		}
		f.sameIDs("listed", ids(f.list(job.Filter{})), []job.ID{others[1].ID, others[0].ID})
		if f.exists(wanted.ID) {
			f.Error("the job with the entry is still there")
		}
	}},
}

// hasMeta reports whether a Meta has all entries of another.
func hasMeta(meta, entries map[string]string) bool {
	for key, value := range entries {
		if got, ok := meta[key]; !ok || got != value {
			return false
		}
	}
	return true
}
