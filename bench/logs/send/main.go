// Send sends numbered log messages to a server on this machine, as fast as it takes them, and counts them in its files:
//
//	go run ./logs/send -format rfc5424-lf -connections 8 -messages 1000000 127.0.0.1:6514
//	go run ./logs/send -connections 8 -messages 1000000 -count app.log
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/meanwhile-go/meanwhile/process"

	"github.com/meanwhile-go/meanwhile/bench/logs/load"
)

func main() {
	var l load.Load
	flag.StringVar((*string)(&l.Format), "format", string(load.Analogger), fmt.Sprintf("one of %v", load.Formats))
	flag.IntVar(&l.Connections, "connections", 1, "how many at once")
	flag.IntVar(&l.Messages, "messages", 1_000_000, "how many in all")
	flag.StringVar(&l.Key, "key", "", "of an Analogger server")
	count := flag.Bool("count", false, "count the messages in files instead, and exit with 1 unless each is there once and in order")
	flag.Parse()
	process.Main(func(ctx context.Context) error {
		if *count {
			tally, err := l.Count(flag.Args()...)
			if err == nil {
				fmt.Println(tally)
			}
			if err == nil && !tally.Complete() {
				err = errors.New("not all messages are there, once and in order")
			}
			return err
		}
		if flag.NArg() != 1 {
			return errors.New("give one address to send to")
		}
		l.Address = flag.Arg(0)
		begun := time.Now()
		if err := l.Send(ctx); err != nil {
			return err
		}
		took := time.Since(begun)
		fmt.Fprintf(os.Stderr, "%d messages in %v, %.0f a second\n", l.Messages, took.Round(time.Millisecond), float64(l.Messages)/took.Seconds())
		return nil
	})
}
