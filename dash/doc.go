// Package dash is a dashboard for jobs, an http.Handler: what needs attention, failures, a search of jobs with bulk actions such as
// retry and cancel, what a running job waits for, queues, workers and crons; and a search of the logs of programs.
//
//	http.Handle("/jobs/", dash.New(dash.Config{Store: store, Prefix: "/jobs"}))
//
// # Who may see it
//
// Everybody who can reach the handler: put authentication in front of it. The handler itself accepts writes only from its own
// pages, and refuses writes in requests that [Config].ReadOnly reports.
//
// # What it costs
//
// Nothing while no page is open. Each open page is read from the store once a second, however many people have it open, and what
// several pages show is read once for all of them. Browsers receive only what has changed.
//
// # What it shows
//
// Args, results, errors and records of jobs, and log records, with the values of the fields in [Config].Mask hidden in JSON
// and attributes, and in texts in which they appear as name=value or name: value. Names of queues, kinds, hosts and tasks are
// shown as they are.
package dash
