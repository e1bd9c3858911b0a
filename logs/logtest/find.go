package logtest

import (
	"cmp"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// Times that no record can have.
var ancient, distant = time.Date(1500, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2500, 1, 1, 0, 0, 0, 0, time.UTC)

// byTime compares records in the order in which they are found.
func byTime(a, b logs.Record) int {
	return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Service, b.Service), cmp.Compare(a.Number, b.Number))
}

var findPromises = []promise{
	{"find goes by time, also where records came late", func(f *fixture) {
		f.append(Batch("b", logs.Client{}, 1, 30), Batch("a", logs.Client{}, 31, 30))
		f.append(Batch("a", logs.Client{}, 11, 5)) // late, as from a spool
		f.append(Batch("b", logs.Client{}, 3, 2), Batch("a", logs.Client{}, 33, 2))
		f.append(Batch("c", logs.Client{}, 20, 30))
		for range 2 {
			for _, newest := range []bool{false, true} {
				got := f.find(storage.Query{Newest: newest})
				if newest {
					slices.Reverse(got)
				}
				if len(got) != 99 || !slices.IsSortedFunc(got, byTime) {
					f.Fatalf("newest %v: %d records, want 99, or not by their times", newest, len(got))
				}
				for _, limit := range []int{1, 40, 98, 1500} {
					some := f.find(storage.Query{Newest: newest, Limit: limit})
					if newest {
						slices.Reverse(some)
					}
					if want := got[max(0, len(got)-limit):]; !slices.EqualFunc(some, want, func(a, b logs.Record) bool { return byTime(a, b) == 0 }) {
						f.Errorf("newest %v, at most %d: they are not the newest ones", newest, limit)
					}
				}
			}
			f.reopen()
		}
	}},
	{"a limit takes the newest", func(f *fixture) {
		for first := uint64(1); first < 5000; first += 500 {
			f.append(Batch("api", logs.Client{}, first, 500))
		}
		f.append(Batch("web", logs.Client{}, 1, 500))
		for range 2 {
			api := f.filter("service=api")
			f.want(f.find(storage.Query{Filter: api, Limit: 100}), 4901, 5000, 4901)
			f.want(f.find(storage.Query{Filter: api, Limit: 3000}), 2001, 5000, 2001)
			f.want(f.find(storage.Query{Filter: api, Limit: 9000}), 1, 5000, 1)
			got := f.find(storage.Query{Filter: api, Limit: 7, Newest: true})
			slices.Reverse(got)
			f.want(got, 4994, 5000, 4994)
			got = f.find(storage.Query{Filter: f.filter("level>=warn"), Limit: 2})
			if len(got) != 2 || got[0].Message != Message(4990) || got[1].Message != Message(5000) {
				f.Errorf("got %q", Messages(got))
			}
			f.reopen()
		}
	}},
	{"since is included, until is not", func(f *fixture) {
		f.append(Batch("api", logs.Client{}, 1, 1000))
		at := func(n int) time.Time { return Epoch.Add(time.Duration(n) * time.Millisecond) }
		for range 2 {
			f.want(f.find(storage.Query{Since: at(301), Until: at(401)}), 301, 400, 301)
			f.want(f.find(storage.Query{Since: at(301), Until: at(401), Limit: 10}), 391, 400, 391)
			if got := f.find(storage.Query{Since: at(1001)}); len(got) != 0 {
				f.Errorf("%d records after the last", len(got))
			}
			if got := f.find(storage.Query{Until: ancient}); len(got) != 0 {
				f.Errorf("%d records before all times that a record can have", len(got))
			}
			f.want(f.find(storage.Query{Since: ancient, Until: distant}), 1, 1000, 1)
			f.reopen()
		}
	}},
	{"filters find words, levels and attributes", func(f *fixture) {
		for first := uint64(1); first < 3000; first += 300 {
			f.append(Batch("api", logs.Client{}, first, 300))
		}
		for range 2 {
			f.want(f.find(storage.Query{Filter: f.filter(`"record 777 of"`)}), 777, 777, 777)
			f.want(f.find(storage.Query{Filter: f.filter("n=2500")}), 2500, 2500, 2500)
			if got := f.find(storage.Query{Filter: f.filter("level>=warn")}); len(got) != 300 {
				f.Errorf("%d warnings, want 300", len(got))
			}
			if got := f.find(storage.Query{Filter: f.filter("nowhere")}); len(got) != 0 {
				f.Errorf("%d records with a word that is in none", len(got))
			}
			f.reopen()
		}
	}},
	{"find may be left, and ranged over again", func(f *fixture) {
		f.append(Batch("api", logs.Client{}, 1, 100))
		found := f.Find(f.ctx, storage.Query{})
		for range found {
			break
		}
		f.want(f.all(found), 1, 100, 1)
	}},
}
