package logtest

import (
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/logs"
)

// Times that no record can have.
var ancient, distant = time.Date(1500, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2500, 1, 1, 0, 0, 0, 0, time.UTC)

var findPromises = []promise{
	{"find goes by time, and of one service by its order", func(f *fixture) {
		f.append(Batch("b", logs.Client{}, 1, 30), Batch("a", logs.Client{}, 31, 30))
		f.append(Batch("a", logs.Client{}, 11, 5)) // late: it stays behind what was stored before
		f.append(Batch("c", logs.Client{}, 20, 30))
		for range 2 {
			for _, newest := range []bool{false, true} {
				got := f.find(logs.Query{Newest: newest})
				if len(got) != 95 {
					f.Fatalf("%d records, want 95", len(got))
				}
				if newest {
					slices.Reverse(got)
				}
				next := make(map[string]uint64)
				for _, r := range got {
					if next[r.Service]++; r.Number != next[r.Service] {
						f.Fatalf("newest %v: record %d of %s comes where %d should", newest, r.Number, r.Service, next[r.Service])
					}
				}
			}
			apart := f.find(logs.Query{Filter: f.filter("service=b or service=c")})
			if len(apart) != 60 || !slices.IsSortedFunc(apart, func(a, b logs.Record) int { return a.Time.Compare(b.Time) }) {
				f.Errorf("%d records of two services, or not by their times", len(apart))
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
			f.want(f.find(logs.Query{Filter: api, Limit: 100}), 4901, 5000, 4901)
			f.want(f.find(logs.Query{Filter: api, Limit: 3000}), 2001, 5000, 2001)
			f.want(f.find(logs.Query{Filter: api, Limit: 9000}), 1, 5000, 1)
			got := f.find(logs.Query{Filter: api, Limit: 7, Newest: true})
			slices.Reverse(got)
			f.want(got, 4994, 5000, 4994)
			got = f.find(logs.Query{Filter: f.filter("level>=warn"), Limit: 2})
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
			f.want(f.find(logs.Query{Since: at(301), Until: at(401)}), 301, 400, 301)
			f.want(f.find(logs.Query{Since: at(301), Until: at(401), Limit: 10}), 391, 400, 391)
			if got := f.find(logs.Query{Since: at(1001)}); len(got) != 0 {
				f.Errorf("%d records after the last", len(got))
			}
			if got := f.find(logs.Query{Until: ancient}); len(got) != 0 {
				f.Errorf("%d records before all times that a record can have", len(got))
			}
			f.want(f.find(logs.Query{Since: ancient, Until: distant}), 1, 1000, 1)
			f.reopen()
		}
	}},
	{"filters find words, levels and attributes", func(f *fixture) {
		for first := uint64(1); first < 3000; first += 300 {
			f.append(Batch("api", logs.Client{}, first, 300))
		}
		for range 2 {
			f.want(f.find(logs.Query{Filter: f.filter(`"record 777 of"`)}), 777, 777, 777)
			f.want(f.find(logs.Query{Filter: f.filter("n=2500")}), 2500, 2500, 2500)
			if got := f.find(logs.Query{Filter: f.filter("level>=warn")}); len(got) != 300 {
				f.Errorf("%d warnings, want 300", len(got))
			}
			if got := f.find(logs.Query{Filter: f.filter("nowhere")}); len(got) != 0 {
				f.Errorf("%d records with a word that is in none", len(got))
			}
			f.reopen()
		}
	}},
	{"find may be left, and ranged over again", func(f *fixture) {
		f.append(Batch("api", logs.Client{}, 1, 100))
		found := f.Find(f.ctx, logs.Query{})
		for range found {
			break
		}
		f.want(f.all(found), 1, 100, 1)
	}},
}
