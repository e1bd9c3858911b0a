package metrics

import "github.com/meanwhile-go/meanwhile/job"

// Observe counts an event. Set it as [job.Config].Observe of each worker of the process, and as Observe of each [job.Claimer], of the API for
// programs and of the server for clients of Faktory; if there is another observer, call Observe from there.
func (m *Collector) Observe(e job.Event) {
	switch e.Kind {
	case job.JobStarted:
		m.jobs.counters(e.Job.Queue, e.Job.Kind).wait.Observe(e.Wait.Seconds())
	case job.CronTicked:
		m.ticks.WithLabelValues(label(&m.crons, e.Cron)).Inc()
	case job.LaneRepaired:
		m.repaired.WithLabelValues(label(&m.queues, e.Repair.Queue)).Inc()
	case job.StoreFailed:
		m.failed.WithLabelValues(e.Call).Inc()
	default:
		if int(e.Kind) < len(outcomes) && outcomes[e.Kind] != "" {
			m.ended(e)
		}
	}
}

func (m *Collector) ended(e job.Event) {
	l := m.jobs.counters(e.Job.Queue, e.Job.Kind)
	l.ended[e.Kind].Inc()
	if e.Elapsed <= 0 { // it was settled without being run, as one that was canceled while its process was dead
		return
	}
	l.run.Observe(e.Elapsed.Seconds())
	if e.Kind != job.JobReleased && e.Kind != job.JobLost {
		l.mean.add(e.Elapsed)
	}
}
