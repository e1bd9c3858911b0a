//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
)

// newProcess makes the ith worker or enqueuer, which does not run yet.
func (o *round) newProcess(role string, i int) (p *harm.Process, err error) {
	seed := o.seed + uint64(len(role)*1000+i)
	p = &harm.Process{
		Name: role + "-" + strconv.Itoa(i+1), Env: o.env, Folder: o.ledgers, Seed: seed, Guard: o.guard, Violated: o.violated,
		Command: func(name string, n int) []string {
			program := o.self
			if o.program != nil {
				program = o.program(p.Name, name)
			}
			return []string{
				program, "-role", role, "-url", o.url, "-name", name, "-ledger", filepath.Join(o.ledgers, name+".ledger"),
				"-lease", o.lease.String(), "-rate", strconv.Itoa(max(o.rate/o.enqueuers, 1)), "-seed", strconv.FormatUint(seed+uint64(n)<<20, 10),
			}
		},
	}
	if role == "worker" {
		p.MayEnd = func(state *os.ProcessState) bool {
			byJob := harm.EndedBy(state, syscall.SIGKILL)
			if byJob {
				o.count("worker killed by its job")
			}
			return byJob
		}
	}
	if o.disk == nil {
		p.Clock, err = harm.NewClock(filepath.Join(o.ledgers, p.Name+".clock"))
	}
	return p, err
}
