package main

import "slices"

var tables = slices.Concat(taskTables, jobTables, logTables())

var jobLibs = []string{"meanwhile", "meanwhile-store", "river-tuned", "river"}

// onStores returns a column for each store.
func onStores(title, benchmark, unit string) []column {
	return []column{
		{title + ", PostgreSQL", benchmark + "/store=postgres/lib=", unit, ""},
		{"SQLite", benchmark + "/store=sqlite/lib=", unit, ""},
	}
}

func columns(parts ...[]column) (all []column) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// callers returns two columns for each number of callers.
func callers(store string) (all []column) {
	for _, n := range []string{"1", "16", "256"} {
		name := "Enqueue/callers=" + n + "/store=" + store + "/lib="
		all = append(all, column{n + ", jobs/s", name, "jobs/s", ""}, column{"p50, ms", name, "p50-ms", ""})
	}
	return all
}

// faster returns the ratio of ours to the fastest of the others.
func faster(name string, others ...string) func(r results) (float64, bool) {
	return func(r results) (float64, bool) {
		least, some := 0.0, false
		for _, base := range others {
			ratio, ok := r.ratio(name+"meanwhile", name+base, "jobs/s")
			if ok && (!some || ratio < least) {
				least, some = ratio, true
			}
		}
		return least, some
	}
}

// wants are the targets of a store.
type wants struct {
	drain, enqueue, bulk float64 // times River
	p50, p99             float64 // milliseconds
}

func jobBars(store, name string, w wants) []bar {
	on := "/store=" + store + "/lib="
	ratio := func(what, benchmark string, least float64) bar {
		return bar{
			what: name + ": " + what, want: "at least " + number(least) + " × River",
			measured: faster(benchmark+on, "river", "river-tuned"), most: least, unit: "×", atLeast: true,
		}
	}
	most := func(what, benchmark, metric, want, unit string, most float64) bar {
		return bar{what: name + ": " + what, want: want, measured: figure(metric, benchmark+on), most: most, unit: unit}
	}
	less := func(what, benchmark, metric, unit string, most float64) bar {
		b := bar{what: name + ": " + what, want: "less than " + number(most) + unit, most: most, less: true, unit: unit}
		b.measured = figure(metric, benchmark+on)
		return b
	}
	three := most("3 at once, 50 ms each", "Three", "jobs/s", "60 jobs/s, within a twentieth", " jobs/s", 57)
	three.atLeast = true
	return []bar{
		ratio("drain 50,000 jobs that do nothing", "Drain", w.drain),
		ratio("enqueue one by one, 16 callers", "Enqueue/callers=16", w.enqueue),
		ratio("enqueue in bulk", "Bulk", w.bulk),
		less("from the call to the start, p50", "Latency", "p50-ms", " ms", w.p50),
		less("from the call to the start, p99", "Latency", "p99-ms", " ms", w.p99),
		most("10,000 jobs of 100 ms, 1,000 at once", "Wait100ms", "x-ideal", "1.1 × the ideal of a second", "×", 1.1),
		less("memory of a running job that waits", "Memory", "B/job", " B", 8000),
		three,
		most("slowdown among three million other jobs", "Crowded", "slowdown", "1.2", "×", 1.2),
	}
}

var jobTables = []table{
	{name: "job-bars", bars: append(append(
		jobBars("postgres", "PostgreSQL", wants{drain: 3, enqueue: 3, bulk: 2, p50: 2, p99: 6}),
		jobBars("sqlite", "SQLite", wants{drain: 8, enqueue: 8, bulk: 5, p50: 1, p99: 4})...),
		bar{
			what: "PostgreSQL: the slowest page with 10,000,000 finished jobs", want: "less than 50 ms",
			measured: slowestPage, most: 50, less: true, unit: " ms",
		},
	)},
	{name: "job-rates", libs: jobLibs, columns: columns(
		onStores("drain", "Drain", "jobs/s"), onStores("bulk", "Bulk", "jobs/s"),
		onStores("60 would be ideal", "Three", "jobs/s"),
	)},
	{name: "job-enqueue-postgres", libs: jobLibs, columns: callers("postgres")},
	{name: "job-enqueue-sqlite", libs: jobLibs, columns: callers("sqlite")},
	{name: "job-waits", libs: jobLibs, columns: columns(
		onStores("start after, p50 ms", "Latency", "p50-ms"), onStores("p99 ms", "Latency", "p99-ms"),
		onStores("10,000 × 100 ms, ms", "Wait100ms", "ms"), onStores("B/job", "Memory", "B/job"),
	)},
	{name: "job-crowds", libs: jobLibs, columns: columns(
		onStores("among three million, jobs/s", "Crowded", "jobs/s"), onStores("slowdown", "Crowded", "slowdown"),
		onStores("under a snapshot, jobs/s", "Snapshot", "jobs/s"), onStores("slowdown", "Snapshot", "slowdown"),
	)},
	{name: "job-redis-bars", bars: redisBars()},
	{name: "job-redis", libs: redisLibs, columns: columns(
		[]column{{"drain, jobs/s", "Drain" + onRedis, "jobs/s", ""}, {"in bulk, jobs/s", "Bulk" + onRedis, "jobs/s", ""}},
		callers("redis"),
		[]column{{"start after, p50 ms", "Latency" + onRedis, "p50-ms", ""}, {"p99 ms", "Latency" + onRedis, "p99-ms", ""}},
	)},
	{name: "job-limits-postgres", libs: storeAlone, columns: limitColumns("postgres")},
	{name: "job-limits-sqlite", libs: storeAlone, columns: limitColumns("sqlite")},
	{name: "job-limits-redis", libs: storeAlone, columns: limitColumns("redis")},
	{name: "job-pages", libs: jobLibs, columns: pageColumns()},
	{name: "job-dashboard", libs: webPages, worst: true, columns: []column{
		{title: "PostgreSQL, median ms", name: "DashboardPages/store=postgres/page=", unit: "p50-ms"},
		{title: "p99 ms", name: "DashboardPages/store=postgres/page=", unit: "p99-ms"},
		{title: "SQLite, median ms", name: "DashboardPages/store=sqlite/page=", unit: "p50-ms"},
		{title: "p99 ms", name: "DashboardPages/store=sqlite/page=", unit: "p99-ms"},
	}},
}

// webPages are those of the dashboard.
var webPages = []string{
	"overview", "failures", "failures-of-a-kind", "queues", "queue", "queue-for-a-day-or-week", "kind", "kind-for-a-day-or-week", "workers", "crons", "cron",
	"audit", "palette", "jobs", "jobs-in-each-state", "jobs-failed-or-retrying", "jobs-of-a-kind", "jobs-of-a-kind-in-each-state", "jobs-of-a-queue",
	"jobs-of-a-queue-in-each-state", "jobs-of-a-kind-and-a-queue", "jobs-of-a-time", "jobs-in-each-order", "jobs-by-id", "jobs-by-unique-key",
	"jobs-by-meta-id", "deep-page", "deep-page-in-each-state", "deep-page-of-a-kind-or-queue", "deep-page-of-a-search", "search-by-error",
	"search-by-args", "search-by-meta", "search-by-worker", "job-in-each-state", "job-as-json", "clone-a-job", "ask-before-an-action",
	"ask-before-an-action-on-a-search", "update-of-each-live-page", "update-of-a-search",
}

const onRedis = "/store=redis/lib="

var storeAlone = []string{"meanwhile-store"}

// limitColumns returns the rate of jobs without limits, and those with limits as shares of it.
func limitColumns(store string) []column {
	name := "Limits/store=" + store + "/lib="
	all := []column{{"without limits, jobs/s", name, "none-jobs/s", ""}}
	for _, way := range [][2]string{
		{"limits, no keys", "queue"}, {"1,000 keys", "1000-keys"}, {"1,000 keys, two at once of each", "1000-keys-two-each"}, {"a key for each job", "key-each"},
	} {
		all = append(all, column{way[0] + ", %", name, way[1] + "-%", ""})
	}
	return all
}

var redisLibs = []string{"meanwhile", "meanwhile-store", "asynq"}

func redisBars() []bar {
	ratio := func(what, benchmark string, least float64) bar {
		return bar{
			what: what, want: "at least " + number(least) + " × asynq", measured: faster(benchmark+onRedis, "asynq"), most: least, unit: "×", atLeast: true,
		}
	}
	start := func(percentile string, most float64) bar {
		return bar{
			what: "from the call to the start, " + percentile, want: "less than " + number(most) + " ms", measured: figure(percentile+"-ms", "Latency"+onRedis),
			most: most, less: true, unit: " ms",
		}
	}
	bullMQ := func(what, benchmark, unit string, least float64) bar {
		return bar{what: what, want: "at least " + number(least) + " × BullMQ", measured: besideBullMQ(benchmark, unit), most: least, unit: "×", atLeast: true}
	}
	return []bar{
		ratio("drain 50,000 jobs that do nothing", "Drain", 8), ratio("enqueue one by one, 16 callers", "Enqueue/callers=16", 1.3),
		start("p50", 1), start("p99", 4),
		bullMQ("enqueue in bulk", "Bulk", "bulk-jobs/s", 8), bullMQ("drain 50,000 jobs that do nothing", "Drain", "drain-jobs/s", 5),
		{
			what: "drain 50,000 jobs with 1,000 limit keys", want: "80 % of the same without", measured: smallest("%-of-without", "Keys"+onRedis+"meanwhile"),
			most: 80, unit: " %", atLeast: true,
		},
	}
}

// besideBullMQ compares jobs/s of ours with what BenchmarkBullMQ reports in a unit.
func besideBullMQ(benchmark, unit string) func(r results) (float64, bool) {
	return func(r results) (float64, bool) {
		return ratio(r[benchmark+onRedis+"meanwhile"]["jobs/s"], r["BullMQ"][unit])
	}
}

var pages = []string{"counts", "newest", "state", "kind", "queue-and-state", "old"}

const pagesName = "Pages/store=postgres/lib="

func pageColumns() (all []column) {
	for _, p := range pages {
		all = append(all, column{p + ", ms", pagesName, p + "-ms", ""})
	}
	return all
}

func slowestPage(r results) (slowest float64, some bool) {
	for _, p := range pages {
		if v, ok := r.median(pagesName+"meanwhile", p+"-ms"); ok {
			slowest, some = max(slowest, v), true
		}
	}
	return slowest, some
}
