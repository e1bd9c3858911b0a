package faktory

import (
	"context"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// renew renews the lease of a client, releases jobs whose reservation is over, and receives commands for it.
func (cs *clients) renew(ctx context.Context, cl *client) error {
	now := time.Now()
	renewal := job.Renewal{Worker: cl.name, Session: cl.session, Lease: lease}
	cs.mu.Lock()
	ids := cl.ids()
	for id, r := range ids {
		if r.until.After(now) {
			renewal.Jobs = append(renewal.Jobs, id)
		} else {
			renewal.Drop = append(renewal.Drop, id)
		}
	}
	cl.info.Running = len(renewal.Jobs)
	cl.info.Concurrency = max(cl.info.Concurrency, cl.conns, cl.info.Running)
	cl.info.Quiet, cl.info.Stopping = max(cl.state, cl.wantedState) >= quiet, cl.state == terminate
	cl.renewed = now
	renewal.Info = cl.info
	renewal.Info.Queues, renewal.Info.Labels = slices.Clone(cl.info.Queues), slices.Clone(cl.info.Labels)
	elsewhere := now.Sub(cl.beat) >= 2*eachBeat && !cl.anonymous
	cs.mu.Unlock()

	within, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	got, err := cs.server.claimer.Renew(within, renewal)
	if err != nil {
		return err
	}
	cs.mu.Lock()
	cl.seen = got.Now
	for _, id := range slices.Concat(got.Lost, renewal.Drop) {
		if r := ids[id]; r != nil {
			cs.drop(r)
		}
	}
	cs.mu.Unlock()
	cs.handleCommands(within, cl, got.Commands, elsewhere)
	return cs.releaseUnknown(within, cl, time.Until(got.Now), got.Now.Sub(now))
}

// handleCommands records which state a client should be in: its BEATs are answered with it, and its FETCHes get no jobs. If the client may send its BEATs
// elsewhere, to another server, the command is sent again, for that server.
func (cs *clients) handleCommands(ctx context.Context, cl *client, commands []job.Command, elsewhere bool) {
	for _, o := range commands {
		wanted := running
		switch o.Do {
		case job.CommandQuiet:
			wanted = quiet
		case job.CommandStop:
			wanted = terminate
		default:
			cs.server.config.Logger.Warn("faktory: a command that a client of this protocol cannot be given", "command", o, "wid", cl.wid)
			continue
		}
		cs.mu.Lock()
		cl.wantedState = max(cl.wantedState, wanted)
		cs.mu.Unlock()
		if elsewhere {
			if err := cs.server.config.Store.SendCommand(ctx, cl.name, o); err != nil {
				cs.server.config.Logger.Warn("faktory: a command was not sent again for the server that gets the BEATs of its client", "wid", cl.wid, "error", err)
			}
		}
	}
}

// runningJobs returns the jobs that a client runs, according to the store, without their args, of which there may be a megabyte each.
func (cs *clients) runningJobs(ctx context.Context, cl *client) (jobs []*job.Job, err error) {
	for j, err := range job.List(ctx, cs.server.config.Store, job.Filter{Worker: cl.name, States: []job.State{job.Running}, Limit: mostSynced}) {
		if err != nil {
			return nil, err
		}
		j.Args = nil
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// takeOver registers the jobs that other servers have given to a client, so that their reservations end.
func (cs *clients) takeOver(ctx context.Context, cl *client) error {
	jobs, err := cs.runningJobs(ctx, cl)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		cs.addUnknown(cl, j)
	}
	return nil
}

func (cs *clients) addUnknown(cl *client, j *job.Job) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cl.unanswered.any() {
		return // the job may have to be released
	}
	jid := jidOf(j)
	for _, r := range cs.reservations[jid] {
		if r.job.ID == j.ID && r.job.Attempt >= j.Attempt {
			return
		}
	}
	cs.addLocked(&reservation{client: cl, jid: jid, job: j, until: j.Started.Add(reserveOf(j))})
}
