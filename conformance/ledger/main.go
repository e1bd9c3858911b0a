// Ledger pushes jobs and runs them with the Go client of Faktory, with the server of FAKTORY_URL, and prints what it does. On USR2 it stops pushing,
// on TERM it exits.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	faktory "github.com/contribsys/faktory/client"
	worker "github.com/contribsys/faktory_worker_go"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	producing, cancel := signal.NotifyContext(ctx, syscall.SIGUSR2)
	defer cancel()
	m := worker.NewManager()
	m.Concurrency = 4
	m.ProcessStrictPriorityQueues("default")
	m.Register("ledger", func(ctx context.Context, _ ...any) error {
		fmt.Println("began", worker.HelperFor(ctx).Jid())
		return nil
	})
	go produce(producing)
	if err := m.RunWithContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// produce pushes a job every 20 ms. If a push was not answered, the job may exist or not.
func produce(ctx context.Context) {
	var client *faktory.Client
	for n := 0; ctx.Err() == nil; n++ {
		var err error
		if client == nil {
			client, err = faktory.Open()
		}
		if err == nil {
			j := faktory.NewJob("ledger", n)
			j.ReserveFor = 60
			if err = client.Push(j); err == nil {
				fmt.Println("pushed", j.Jid)
			}
		}
		if err != nil && client != nil {
			_ = client.Close()
			client = nil
		}
		time.Sleep(20 * time.Millisecond)
	}
}
