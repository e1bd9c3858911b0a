// Hang shows how to inspect a program that hangs. It is the server of a small shop, whose parts hang in seven ways: one waits
// for a connection that does not respond, one for a mutex, two for each other. It serves its task tree over HTTP, requests it
// after two and a half seconds, as curl would, prints the response, and exits:
//
//	hang (pid 4711): 20 tasks, 32 goroutines, 7 threads
//	shop, 2s: network HTTP answer, main.go:117 (http.(*Client).Do)
//	├─ server, 2s: network accept, main.go:105 (http.(*Server).Serve), here in 9 snapshots
//	├─ watch, 2s: sleep for another 51ms
//	├─ warehouse, 2s: network accept, shop.go:43 (net.(*TCPListener).Accept), here in 9 snapshots
//	├─ heartbeat, 2s: sleep for another 99ms
//	├─ receipts, 2s: receive, receipts.go:8, here in 9 snapshots
//	├─ parcels (joining), 2s: tasks, here for 2s
//	│  ├─ invoice, 2s: task shop/parcels/parcel, a deadlock, parcels.go:15 (meanwhile.(*Task[...]).Wait), here for 2s
//	│  └─ parcel, 2s: task shop/parcels/invoice, a deadlock, parcels.go:19 (meanwhile.(*Task[...]).Wait), here for 2s
//	├─ stock (joining), 2s: tasks, here for 2s
//	│  ├─ refresh, 2s: network read, stock.go:40 (net.(*conn).Read), here in 9 snapshots
//	│  └─ customer, 2s: mutex, stock.go:45 (sync.(*Mutex).Lock), here in 9 snapshots
//	├─ index, 2s: send, index.go:21, here in 9 snapshots
//	│  └─ pages, 2s: full 64 results, here in 9 snapshots
//	├─ photos, 2s: semaphore 2 of 2 held, made at photos.go:12, taken by shop/photos, photos.go:17 (meanwhile.(*Semaphore).Acquire), here for 2s
//	│  ├─ photo 1, 2s: network HTTP answer, photos.go:34 (http.(*Client).Do), here in 9 snapshots
//	│  └─ photo 2, 2s: network HTTP answer, photos.go:34 (http.(*Client).Do), here in 9 snapshots
//	├─ mailer, 2s: task shop/mailer/printer, mailer.go:18 (meanwhile.(*Task[...]).Wait), here for 2s
//	│  └─ printer (canceled), 2s: send, mailer.go:14, here in 9 snapshots
//	└─ orders, 2s: network read, orders.go:18 (bufio.(*Scanner).Scan), here in 9 snapshots
//
// docs/hangs.md explains it line by line. A Watch reports the problems that are certain, on standard error:
//
//	WARN a task waits for one that waits for it task=shop/parcels/invoice elapsed=1.015s wait="task shop/parcels/parcel, a deadlock, parcels.go:15 (meanwhile.(*Task[...]).Wait), here for 1s"
//	WARN a task waits for one that waits for it task=shop/parcels/parcel elapsed=1.015s wait="task shop/parcels/invoice, a deadlock, parcels.go:19 (meanwhile.(*Task[...]).Wait), here for 1s"
//	WARN a task goes on though it was canceled task=shop/mailer/printer elapsed=1.011s wait="send, mailer.go:14, here in 9 snapshots"
//
// With -serve it runs until it is interrupted, and then prints the tasks that do not end. Inspect it with:
//
//	go run ./examples/hang -serve
//	curl localhost:6060/debug/meanwhile
//	go run ./cmd/meanwhile top
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/live"
	"github.com/meanwhile-go/meanwhile/process"
)

func main() {
	serve := flag.Bool("serve", false, "go on until interrupted")
	listen := flag.String("listen", "", "show the tasks at this `address` (default localhost:6060 with -serve, else a free port)")
	flag.Parse()
	switch {
	case *listen != "":
	case *serve:
		*listen = "localhost:6060"
	default:
		*listen = "localhost:0"
	}
	process.Config{Grace: 2 * time.Second}.Main(func(ctx context.Context) error {
		return run(ctx, *listen, *serve)
	}, meanwhile.Name("shop"))
}

func run(ctx context.Context, listen string, serve bool) error {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	meanwhile.Go(ctx, func(ctx context.Context) error { return show(ctx, listener) }, meanwhile.Name("server"))
	inspect.Watch(ctx, inspect.WatchConfig{CancellationIgnored: time.Second})
	if err := open(ctx); err != nil {
		return err
	}
	url := "http://" + listener.Addr().String() + "/debug/meanwhile"
	if serve {
		fmt.Println("look at", url)
		<-ctx.Done()
		return nil
	}
	if err := meanwhile.Sleep(ctx, 2500*time.Millisecond); err != nil {
		return err
	}
	if err := printTree(ctx, url); err != nil {
		return err
	}
	os.Exit(0) // the scope would wait for the tasks that hang
	return nil
}

// show serves the live tree until ctx is canceled.
func show(ctx context.Context, listener net.Listener) error {
	mux := http.NewServeMux()
	mux.Handle("/debug/meanwhile", live.Handler(live.Config{}))
	server := &http.Server{Handler: mux}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// printTree requests the tree and prints it, as curl would.
func printTree(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(os.Stdout, response.Body)
	return err
}
