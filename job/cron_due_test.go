package job

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestCronDue(t *testing.T) {
	t.Parallel()
	hourly := mustSpec(t, "@hourly", time.UTC)
	at := func(clock string) time.Time {
		t.Helper()
		v, err := time.Parse("15:04:05", clock)
		if err != nil {
			t.Fatal(err)
		}
		return v.AddDate(2026, 0, 0)
	}
	for _, c := range []struct {
		name            string
		last, seen, now string
		policy          CatchUp
		want            []string
	}{
		{"nothing yet", "10:00:00", "10:59:00", "10:59:59", CatchUpLast, nil},
		{"on time", "10:00:00", "10:59:00", "11:00:00", CatchUpNone, []string{"11:00:00"}},
		{"a little late", "10:00:00", "10:59:00", "11:00:59", CatchUpNone, []string{"11:00:00"}},
		{"too late", "10:00:00", "10:59:00", "11:01:00", CatchUpNone, nil},
		{"missed, none", "10:00:00", "10:30:00", "14:30:00", CatchUpNone, nil},
		{"missed, last", "10:00:00", "10:30:00", "14:30:00", CatchUpLast, []string{"14:00:00"}},
		{"missed, all", "10:00:00", "10:30:00", "14:30:00", CatchUpAll, []string{"11:00:00", "12:00:00", "13:00:00", "14:00:00"}},
		{"missed and on time, none", "10:00:00", "13:59:59", "14:00:10", CatchUpNone, []string{"14:00:00"}},
		{"missed and on time, last", "10:00:00", "13:59:59", "14:00:10", CatchUpLast, []string{"14:00:00"}},
		{"before the start, none", "10:00:00", "14:00:00", "14:00:10", CatchUpNone, nil},
		{"before the start, last", "10:00:00", "14:00:00", "14:00:10", CatchUpLast, []string{"14:00:00"}},
		{"before the start, all", "12:00:00", "14:00:00", "14:00:10", CatchUpAll, []string{"13:00:00", "14:00:00"}},
		{"another worker has enqueued it", "14:00:00", "13:59:59", "14:00:10", CatchUpNone, nil},
		{"last is that of another clock", "15:00:00", "13:59:00", "14:00:10", CatchUpAll, nil},
	} {
		var got []string
		for _, tick := range due(hourly, at(c.last), at(c.seen), at(c.now), c.policy) {
			got = append(got, tick.Format("15:04:05"))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// TestCronDueAfterACentury: for a cron that has missed every second of a century, due looks back only as far as necessary.
func TestCronDueAfterACentury(t *testing.T) {
	t.Parallel()
	s := mustSpec(t, "* * * * * *", time.UTC)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, last := range []time.Time{now.AddDate(-100, 0, 0), {}} {
		got := due(s, last, last, now, CatchUpAll)
		if len(got) != maxCatchUp || !got[len(got)-1].Equal(now) || !got[0].Equal(now.Add(-(maxCatchUp-1)*time.Second)) {
			t.Errorf("got %d ticks", len(got))
		}
		for _, policy := range []CatchUp{CatchUpLast, CatchUpNone} {
			if got := due(s, last, last, now, policy); len(got) != 1 || !got[0].Equal(now) {
				t.Errorf("policy %d: got %v, want the newest tick", policy, got)
			}
		}
	}
}

// TestCronDueSinceEver: last may be longer ago than a time.Duration can hold.
func TestCronDueSinceEver(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	got := due(mustSpec(t, "@yearly", time.UTC), time.Time{}, now, now, CatchUpAll)
	if len(got) != maxCatchUp || got[0].Year() != 2026-maxCatchUp+1 || got[len(got)-1].Year() != 2026 {
		t.Errorf("got %d ticks: %v", len(got), got)
	}
}

func TestCronDueLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		spec := rapid.SampledFrom([]string{
			"* * * * *", "*/7 * * * *", "@hourly", "0 2 * * *", "@every 90s", "*/20 * * * * *", "0 0 1 1 *", "0 0 29 2 *",
		}).Draw(t, "spec")
		zone, _ := time.LoadLocation(rapid.SampledFrom(zoneNames).Draw(t, "zone"))
		s, err := parseSpec(spec, zone)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Unix(1743292800+rapid.Int64Range(0, 1e8).Draw(t, "now"), rapid.Int64Range(0, 999999999).Draw(t, "nanos"))
		last := now.Add(-time.Duration(rapid.Int64Range(-60, 40000).Draw(t, "down")) * time.Second)
		var all []time.Time
		for tick := s.next(last); !tick.After(now); tick = s.next(tick) {
			all = append(all, tick)
		}
		seen := now.Add(-time.Duration(rapid.Int64Range(0, 40000).Draw(t, "unseen")) * time.Second)
		newest := all[max(0, len(all)-1):]
		late := slices.DeleteFunc(slices.Clone(newest), func(tick time.Time) bool { return now.Sub(tick) >= mostLate || !tick.After(seen) })
		for policy, want := range map[CatchUp][]time.Time{
			CatchUpAll:  all[max(0, len(all)-maxCatchUp):],
			CatchUpNone: late,
			CatchUpLast: newest,
		} {
			got := due(s, last, seen, now, policy)
			if !slices.EqualFunc(got, want, time.Time.Equal) {
				t.Fatalf("policy %d, %v in (%v, %v]: got %v, want %v", policy, s, last, now, got, want)
			}
			if len(got) > 0 {
				if again := due(s, got[len(got)-1], seen, now, policy); len(again) > 0 {
					t.Fatalf("policy %d: %v are due again", policy, again)
				}
			}
		}
	})
}
