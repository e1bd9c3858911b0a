package job

import "time"

// What stores keep, for how long, and how much of it. It is policy, so it stands here once; stores read it.
const (
	WorkerKept   = 24 * time.Hour      // a worker that was not seen is listed so long
	SessionKept  = 10 * time.Minute    // a session whose lease is over is remembered so long
	CronKept     = 30 * 24 * time.Hour // a cron that no worker has noted is listed so long
	StatsKept    = 2 * time.Hour       // rows of minutes; older ones are added up, see MergeStats
	StatsSpan    = 30 * time.Minute    // of a row in which they are added up
	StatsPast    = 8 * 24 * time.Hour  // such a row is kept so long
	MostStats    = 1000                // such rows of one span
	AuditKept    = 90 * 24 * time.Hour // an entry of the audit log is kept so long
	MostAudited  = 10_000              // entries of the audit log, the newest
	LongestWatch = time.Minute         // see Store.Watch
	MostWatched  = 100                 // jobs that Renew returns
	MostCommands = 100                 // that wait for a worker
	CommandKept  = time.Minute         // a command that was not fetched is dropped then
	LongestWait  = 10 * time.Second    // Wait returns after so long, without a cause
)
