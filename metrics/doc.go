// Package metrics exports metrics of jobs, queues, workers and tasks to Prometheus, and has health checks for load balancers.
//
//	m := metrics.New(metrics.Config{Store: store})
//	worker := job.NewWorker(store, job.Config{Observe: m.Observe}, handlers...)
//	m.Watch(worker)
//	http.Handle("/metrics", m.Handler())
//	http.HandleFunc("/healthz", m.Healthz)
//	http.HandleFunc("/readyz", m.Readyz)
//
// The guide docs/metrics.md lists the metrics, with alerts, autoscaling and a Grafana dashboard.
//
// # What it costs
//
// The store is queried at most once per Config.Interval, however often metrics are scraped, with a deadline of two seconds. While it
// does not answer, the metrics that come from it are left out and meanwhile_store_up is 0; a scrape never waits longer. An event
// costs a lookup and two or three updates of counters; it takes no lock that events of other queues and kinds need.
//
// # Bounds
//
// Labels are bounded, so that names from outside cannot exhaust memory: there are at most [MaxLabels] pairs of queue and kind,
// and as many queues, crons, scopes and names of tasks. Everything beyond them is counted under the label "other".
package metrics
