package dash_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/internal/detach"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// TestReadersLeaveNothing: the memory of live pages is freed when their readers have left, and new readers need no more than the previous ones.
func TestReadersLeaveNothing(t *testing.T) {
	if testenv.UnderRace {
		t.Skip("pools drop values at random")
	}
	t.Run("detached", func(t *testing.T) { readersLeaveNothing(t, true) })
	t.Run("not detached", func(t *testing.T) { readersLeaveNothing(t, false) })
}

func readersLeaveNothing(t *testing.T, detached bool) {
	s := memory.New()
	enqueue(t, s, "mail", `{}`, 20)
	h := dash.New(dash.Config{Store: s})
	if detached {
		var all sync.WaitGroup
		defer all.Wait()
		h = detach.Wrap(t.Context(), all.Go, h)
	}
	server := httptest.NewServer(h)
	defer server.Close()
	inUse := func() (bytes int64) {
		for range 3 { // a pool is empty after two collections
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	round := func(n int) {
		goroutines := runtime.NumGoroutine()
		var readers []net.Conn
		for i := range n {
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			_, _ = fmt.Fprintf(conn, "GET /queues?n=%d HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nAccept-Encoding: gzip\r\n\r\n", i)
			if line, err := bufio.NewReaderSize(conn, 16).ReadSlice(' '); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			readers = append(readers, conn)
		}
		for _, conn := range readers {
			_ = conn.Close()
		}
		testenv.Await(t, func() bool { return runtime.NumGoroutine() <= goroutines+2 })
	}
	const n = 150
	round(10) // creates what is created only once
	before := inUse()
	round(n)
	first := inUse()
	round(n)
	second := inUse()
	// For each goroutine of the peak the runtime keeps a descriptor of half a kilobyte, and a connection has two goroutines.
	if took := first - before; took > n*2500 {
		t.Errorf("%d readers have left, and %d bytes of each are still in use", n, took/n)
	}
	if took := second - first; took > n*400 {
		t.Errorf("the next %d readers have left, and %d bytes more of each are still in use", n, took/n)
	}
}

// TestDetachedReaderIsCheap: a reader whose answer was detached needs less than 8 kB while it waits, including both ends of its connection.
func TestDetachedReaderIsCheap(t *testing.T) {
	testenv.LongTest(t)
	if testenv.UnderRace {
		t.Skip("the race detector needs more memory")
	}
	s := memory.New()
	var all sync.WaitGroup
	defer all.Wait()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	server := httptest.NewServer(detach.Wrap(ctx, all.Go, dash.New(dash.Config{Store: s})))
	defer server.Close()
	inUse := func() int64 {
		for range 5 { // each collection halves unused stacks
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc + m.StackInuse)
	}
	enqueue(t, s, "mail", `{}`, 20)
	read(t, server.Config.Handler, "/queues")
	const n = 500
	before := inUse()
	for i := range n {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		_, _ = fmt.Fprint(conn, "GET /queues HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nAccept-Encoding: gzip\r\n\r\n")
		if line, err := bufio.NewReaderSize(conn, 16).ReadSlice(' '); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if i%250 == 0 {
			enqueue(t, s, "mail", `{}`, 1)
			time.Sleep(1500 * time.Millisecond) // every reader has received the update
		}
	}
	if took := (inUse() - before) / n; took > 8<<10 {
		t.Errorf("a reader needs %d bytes", took)
	}
}
