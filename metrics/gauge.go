package metrics

import "github.com/prometheus/client_golang/prometheus"

// The gauges: the state at the time of a scrape.
var (
	jobsDesc     = desc("jobs", "Jobs in the store.", "queue", "kind", "state")
	depthDesc    = desc("queue_depth", "Queued jobs, those that are not due yet included.", "queue")
	oldestDesc   = desc("queue_oldest_due_seconds", "Since when the job that is due the longest is due; 0 when none is.", "queue")
	workDesc     = desc("queue_work_seconds", "Queued jobs times the mean run time of their kind; 0 when none is due or the queue is paused.", "queue")
	pausedDesc   = desc("queue_paused", "Whether the queue is paused.", "queue")
	upDesc       = desc("store_up", "Whether the store answered when it was asked last.")
	claimAgeDesc = desc("claim_age_seconds", "Since when the claim loop of a worker that has room has not been answered, the longest of this process.")
	slotsDesc    = desc("worker_slots", "Jobs that the workers of this process run at once at most.")
	usedDesc     = desc("worker_slots_used", "Jobs that the workers of this process run.")
	tasksDesc    = desc("tasks", "Tasks that run in this process, by the first word of the name of their scope.", "scope")

	gauges = []*prometheus.Desc{jobsDesc, depthDesc, oldestDesc, workDesc, pausedDesc, upDesc, claimAgeDesc, slotsDesc, usedDesc, tasksDesc}
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("meanwhile_"+name, help, labels, nil)
}
