package job

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

func TestCronSpecErrorsNameTheField(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"":                       "it has 0 fields: give 5",
		"* * * *":                "it has 4 fields",
		"* * * * * * *":          "it has 7 fields",
		"60 * * * *":             `minute "60": "60" is not allowed: give a number from 0 to 59 or *`,
		"0 24 * * *":             `hour "24": "24" is not allowed: give a number from 0 to 23`,
		"0 0 0 * *":              `day of the month "0": "0" is not allowed: give a number from 1 to 31, L for the last`,
		"0 0 1 13 *":             `month "13": "13" is not allowed: give a number from 1 to 12 or jan to dec`,
		"0 0 1 foo *":            `month "foo"`,
		"0 0 * * 8":              `day of the week "8": "8" is not allowed: give a number from 0 to 7 or sun to sat`,
		"60 0 0 * * *":           `second "60"`,
		"*/0 * * * *":            `"0" is not a step: give a number from 1 to 60`,
		"*/61 * * * *":           `"61" is not a step`,
		"*/ * * * *":             `"" is not a step`,
		"1/2/3 * * * *":          `"2/3" is not a step`,
		"30-10 * * * *":          "the range 30-10 runs backwards",
		"1- * * * *":             `"" is not allowed`,
		"1,,2 * * * *":           `minute "1,,2": "" is not allowed`,
		"-1 * * * *":             `minute "-1"`,
		"+1 * * * *":             `minute "+1"`,
		"? * * * *":              `minute "?"`,
		"L * * * *":              `minute "l"`,
		"0 0 L-3 * *":            `day of the month "l-3"`,
		"0 0 * * 5#2":            `day of the week "5#2"`,
		"0 0 30 2 *":             "none of its months has such a day",
		"0 0 31 2,4,6,9,11 *":    "none of its months has such a day",
		"@reboot":                `"@reboot" is not known: give @hourly`,
		"@every":                 "is not known",
		"@every 1.5s":            `"1.5s" is not a period: give whole seconds`,
		"@every 0s":              "is not a period",
		"@every -1s":             "is not a period",
		"@every 500ms":           "is not a period",
		strings.Repeat("*", 999): "has 999 bytes, at most 512 are allowed",
	} {
		_, err := parseSpec(spec, nil)
		if err == nil {
			t.Errorf("%q was accepted, want an error with %q", spec, want)
			continue
		}
		if got := err.Error(); !strings.Contains(got, want) || !strings.HasPrefix(got, "cron spec ") {
			t.Errorf("%q: error %q, want one with %q", spec, got, want)
		}
	}
}

func TestCronSpecSaysTheSame(t *testing.T) {
	t.Parallel()
	for _, same := range [][2]string{
		{"0 0 * JAN Mon", "0 0 * 1 1"},
		{"0 0 ? * ?", "0 0 * * *"},
		{"0 0 * * 7", "0 0 * * sun"},
		{"0 0 * * 5-7", "0 0 * * 0,5,6"},
		{"0 0 * * fri-sun", "0 0 * * 0,5,6"},
		{"0 0 * * 0-7/7", "0 0 * * 0"},
		{"0 5 * * * *", "5 * * * *"},
		{"5/20 * * * *", "5,25,45 * * * *"},
		{"10-30/10 * * * *", "10,20,30 * * * *"},
		{"  0\t0 * * * ", "@daily"},
		{"@hourly", "0 * * * *"},
		{"@Midnight", "@daily"},
		{"@weekly", "0 0 * * sun"},
		{"@monthly", "0 0 1 * *"},
		{"@annually", "@yearly"},
		{"0 0 1 1 *", "@yearly"},
	} {
		a, b := mustSpec(t, same[0], time.UTC), mustSpec(t, same[1], time.UTC)
		a.spec, b.spec = "", ""
		if *a != *b {
			t.Errorf("got %q as %+v, and %q as %+v, want the same", same[0], a, same[1], b)
		}
	}
}

func TestCronSpecString(t *testing.T) {
	t.Parallel()
	if got, want := mustSpec(t, " 0  3 * * Mon", inZone(t, "Europe/Berlin")).String(), "0 3 * * Mon Europe/Berlin"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := mustSpec(t, "@daily", nil).String(), "@daily UTC"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := mustSpec(t, "@every 90s", nil).String(), "@every 90s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// FuzzCron checks accepted specs against the naive cron: from a time on, both tick at the same times.
func FuzzCron(f *testing.F) {
	for _, spec := range []string{
		"*/10 2 * * *", "30 2 * * *", "0 */2 * * *", "0 0 L * *", "15 1,2 13 * fri", "* * * * *", "0-7/7 0-23 * * 5-7", "@daily",
		"*/20 30 1-3 ? * ?", "0 0 29 2 *", "5/20 * 1 jan-mar/2 sun-fri/3", "@every 90s", "0 0 */2 * mon", "59 23 L,15 * sat-sun",
	} {
		for i := range testenv.Rounds(2, len(zoneNames)) {
			f.Add(spec, byte(i), int64(1743292800+i*7919))
		}
	}
	zones := make([]*time.Location, len(zoneNames))
	for i := range zones {
		zones[i] = inZone(f, zoneNames[i])
	}
	f.Fuzz(func(t *testing.T, spec string, zone byte, unix int64) {
		at := zones[int(zone)%len(zones)]
		s, err := parseSpec(spec, at)
		if err != nil {
			return
		}
		// From 1975 to 2035: in earlier years, some zones shift by seconds.
		after := time.Unix(157766400+int64(uint64(unix)%1893456000), 0)
		checkAgainstNaive(t, s, spec, after)
	})
}

var zoneNames = []string{
	"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca", "Antarctica/Troll",
}

type reporter interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkAgainstNaive compares all ticks within some time after a time, and checks that the first one is later than that time.
func checkAgainstNaive(t reporter, s *schedule, spec string, after time.Time) {
	t.Helper()
	first := s.next(after)
	if first.IsZero() {
		t.Fatalf("%v never ticks", s)
	}
	if !first.After(after) || first.Nanosecond() != 0 {
		t.Fatalf("%v: next of %v is %v", s, after, first)
	}
	if again := s.next(first.Add(-time.Nanosecond)); !again.Equal(first) {
		t.Fatalf("%v: next of %v is %v, and of just before that one %v", s, after, first, again)
	}
	if s.every > 0 {
		if first.Unix()%s.every != 0 || first.Unix()-after.Unix() > s.every {
			t.Fatalf("%v: next of %v is %v", s, after, first)
		}
		return
	}
	step, span := time.Minute, 50*time.Hour
	if len(strings.Fields(spec)) == 6 {
		step, span = time.Second, 4*time.Hour
	}
	// Compare from the given time on, or around the first tick if that is far away.
	from := after
	if first.Sub(after) > span {
		from = first.Add(-span / 2)
	}
	until := from.Add(span)
	want := newNaive(spec, s.zone).ticks(from, until, step)
	var got []time.Time
	for tick := s.next(from); !tick.After(until); tick = s.next(tick) {
		got = append(got, tick)
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !got[i].Equal(want[i]) {
			t.Fatalf("%v after %v: tick %d differs:\n got %v\nwant %v", s, from.In(s.zone), i, got[min(i, len(got)):], want[min(i, len(want)):])
		}
	}
}

// TestCronAgreesWithNaive draws specs that are likely to be near a shift of the clock.
func TestCronAgreesWithNaive(t *testing.T) {
	t.Parallel()
	shifts := map[string][]int64{}
	for _, name := range zoneNames {
		zone := inZone(t, name)
		for at := time.Date(2011, 1, 1, 0, 0, 0, 0, zone); at.Year() < 2027; {
			_, end := at.ZoneBounds()
			if end.IsZero() {
				break
			}
			shifts[name] = append(shifts[name], end.Unix())
			at = end
		}
		if len(shifts[name]) == 0 {
			shifts[name] = []int64{1743292800}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(zoneNames).Draw(t, "zone")
		zone, _ := time.LoadLocation(name)
		spec := strings.Join([]string{
			rapid.SampledFrom([]string{"0", "*", "*/15", "5-50/9", "59", "0,30"}).Draw(t, "minute"),
			rapid.SampledFrom([]string{"*", "*/2", "0-23", "0", "1", "2", "3", "1-3", "23", "0,2"}).Draw(t, "hour"),
			rapid.SampledFrom([]string{"*", "?", "L", "1", "25-31", "*/3", "15,L"}).Draw(t, "day"),
			rapid.SampledFrom([]string{"*", "3,4,9-11", "jan-dec", "*/2"}).Draw(t, "month"),
			rapid.SampledFrom([]string{"*", "?", "sun", "7", "sat-sun", "*/2", "fri"}).Draw(t, "weekday"),
		}, " ")
		s, err := parseSpec(spec, zone)
		if err != nil {
			t.Fatal(err)
		}
		shift := rapid.SampledFrom(shifts[name]).Draw(t, "shift")
		checkAgainstNaive(t, s, spec, time.Unix(shift-rapid.Int64Range(-7200, 100000).Draw(t, "before"), 0))
	})
}

func mustSpec(t testing.TB, spec string, zone *time.Location) *schedule {
	t.Helper()
	s, err := parseSpec(spec, zone)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func inZone(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}
