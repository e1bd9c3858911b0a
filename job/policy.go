package job

import "time"

// How much stores keep, and for how long. This is policy, so it is defined once, here; stores read it.
const (
	WorkerKept   = 24 * time.Hour      // how long a worker that was not seen stays listed
	SessionKept  = 10 * time.Minute    // how long a session whose lease is over is remembered
	CronKept     = 30 * 24 * time.Hour // how long a cron that no worker has reported stays listed
	StatsKept    = 2 * time.Hour       // how long rows of minutes are kept; older ones are added up, see MergeStats
	StatsSpan    = 30 * time.Minute    // the time that one such row covers
	StatsPast    = 8 * 24 * time.Hour  // how long such a row is kept
	MostStats    = 1000                // the most such rows of one span
	AuditKept    = 90 * 24 * time.Hour // how long an entry of the audit log is kept
	MostAudited  = 10_000              // the most entries of the audit log; the newest are kept
	LongestWatch = time.Minute         // the longest d of Store.Watch
	MostWatched  = 100                 // the most watched jobs that Renew returns
	MostCommands = 100                 // the most commands that wait for a worker
	CommandKept  = time.Minute         // how long a command waits for its worker before it is dropped
	LongestWait  = 10 * time.Second    // Wait returns after that time at the latest
)
