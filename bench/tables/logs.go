package main

import "slices"

var logFormats = []struct{ format, title string }{
	{"analogger", "Analogger"},
	{"rfc5424-octets", "RFC 5424, octets"},
	{"rfc5424-lf", "RFC 5424, lines"},
	{"rfc3164-lf", "RFC 3164"},
}

func inName(format, conns string) string { return "In/in=" + format + "/conns=" + conns + "/lib=" }

// logColumns has columns for each number of connections.
func logColumns(name func(conns string) string) (all []column) {
	for _, conns := range []string{"1", "8", "200"} {
		name, title := name(conns), conns+" connections, messages/s"
		if conns == "1" {
			title = "1 connection, messages/s"
		}
		all = append(all,
			column{title, name, "messages/s", ""},
			column{"CPU µs", name, "µs-cpu/message", ""},
			column{"lost", name, "lost", ""},
			column{"MB", name, "MB", ""})
	}
	return all
}

// beside returns the smallest, or the largest, ratio of ours to another's over all numbers of connections. Formats that rsyslog
// does not support are compared with its RFC 3164.
func beside(format, unit string, pick func(a, b float64) float64) func(r results) (float64, bool) {
	return func(r results) (picked float64, some bool) {
		for _, conns := range []string{"1", "8", "200"} {
			base := format
			if format == "analogger" {
				base = "rfc3164-lf"
			}
			ratio, ok := r.ratio(inName(format, conns)+"meanwhile", inName(base, conns)+"rsyslog", unit)
			if !ok {
				continue
			}
			if !some {
				picked, some = ratio, true
			}
			picked = pick(picked, ratio)
		}
		return picked, some
	}
}

// original is the throughput of the original Analogger, in messages/s, by the number of connections. It was measured once, on a
// machine where rsyslog reached 1.5 to 1.6 million: Debian has no package of it.
var original = map[string]float64{"1": 120_000, "8": 130_000, "200": 120_000}

func besideOriginal(r results) (least float64, some bool) {
	for conns, theirs := range original {
		if v, ok := r.median(inName("analogger", conns)+"meanwhile", "messages/s"); ok && (!some || v/theirs < least) {
			least, some = v/theirs, true
		}
	}
	return least, some
}

// storeFormats are the syslog formats, which are stored in the default store.
var storeFormats = logFormats[1:]

func inStore(conns string) (names []string) {
	for _, f := range storeFormats {
		names = append(names, inName(f.format, conns)+"meanwhile-store")
	}
	return names
}

func logBars() (all []bar) {
	least := func(a, b float64) float64 { return min(a, b) }
	most := func(a, b float64) float64 { return max(a, b) }
	var ours []string
	for _, lib := range handlers[:3] {
		ours = append(ours, handlerName("8")+lib)
	}
	for _, f := range logFormats {
		all = append(all,
			bar{
				what: f.title + ", to a file: messages/s, the worst of three", want: "at least 3 × rsyslog", unit: "×",
				measured: beside(f.format, "messages/s", least), most: 3, atLeast: true,
			},
			bar{
				what: f.title + ", to a file: CPU for a message, the worst of three", want: "a third of rsyslog's", unit: "×",
				measured: beside(f.format, "µs-cpu/message", most), most: 1.0 / 3,
			},
			bar{
				what: f.title + ": lost, of all three", want: "none", unit: "",
				measured: figure("lost", inName(f.format, "1"), inName(f.format, "8"), inName(f.format, "200")),
			})
	}
	return append(all,
		bar{
			what: "Analogger: messages/s, the worst of three", want: "at least 30 × Analogger's own", unit: "×",
			measured: besideOriginal, most: 30, atLeast: true,
		},
		bar{
			what: "syslog, to the store, 8 connections: messages/s, the least of three formats", want: "at least 1,900,000", unit: "",
			measured: smallest("messages/s", inStore("8")...), most: 1_900_000, atLeast: true,
		},
		bar{
			what: "syslog, to the store, 8 connections: CPU for a message, the most of three formats", want: "at most 0.4 µs", unit: " µs",
			measured: largest("µs-cpu/message", inStore("8")...), most: 0.4,
		},
		bar{what: "syslog, to the store: lost, of all nine", want: "none", measured: largest("lost", slices.Concat(inStore("1"), inStore("8"), inStore("200"))...)},
		bar{
			what: "own protocol, on disk before it is acknowledged, 8 clients", want: "at least 2,000,000 records/s", unit: " records/s",
			measured: figure("messages/s", ownName("8")), most: 2_000_000, atLeast: true,
		},
		bar{
			what: "own protocol, memory at 200 connections", want: "less than 200 MB", unit: " MB",
			measured: figure("MB", ownName("200")), most: 200, less: true,
		},
		bar{what: "own protocol: lost, of all three", want: "none", measured: figure("lost", ownName("1"), ownName("8"), ownName("200"))},
		bar{
			what: "handler: a call, 8 goroutines, the slowest of up, down and down with a spool", want: "less than 500 ns", unit: " ns",
			measured: largest("ns/op", ours...), most: 500, less: true,
		},
		bar{what: "handler: allocations of a call", want: "at most 1", measured: largest("allocs/op", ours...), most: 1})
}

func handlerName(goroutines string) string { return "Handler/goroutines=" + goroutines + "/lib=" }

func ownName(conns string) string { return "Own/conns=" + conns + "/lib=" }

func logTables() []table {
	all := []table{{name: "log-bars", bars: logBars()}}
	for _, f := range logFormats {
		all = append(all, table{name: "log-" + f.format, libs: []string{"meanwhile", "meanwhile-store", "rsyslog", "syslog-ng", "bare"}, columns: logColumns(func(conns string) string { return inName(f.format, conns) })})
	}
	return append(all,
		table{name: "log-own", libs: []string{"meanwhile"}, columns: logColumns(ownName)},
		table{name: "log-handler", libs: handlers, columns: handlerColumns()})
}

// handlers are ours, with the server up and down, and others.
var handlers = []string{"meanwhile-up", "meanwhile-down-spool", "meanwhile-down", "slog-json-file", "slog-json-syslog", "slog-nothing"}

func handlerColumns() []column {
	one, eight := handlerName("1"), handlerName("8")
	return []column{
		{"1 goroutine, ns", one, "ns/op", ""},
		{"CPU ns", one, "cpu-ns/op", ""},
		{"8 goroutines, ns", eight, "ns/op", ""},
		{"CPU ns", eight, "cpu-ns/op", ""},
		{"allocations", eight, "allocs/op", ""},
	}
}
