package server

import (
	"net"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/logwire"
	"github.com/meanwhile-go/meanwhile/logs"
)

// SendRaw sends a record of a service by the own protocol, as a client that checks nothing does, and waits for the acknowledgement.
func SendRaw(t *testing.T, address, service, message string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	b := logs.Batch{Service: service, Client: logs.NewClient(), First: 1, Last: 1}
	b.Add(&logs.View{Time: time.Now().UnixNano(), Message: []byte(message)})
	r := rawClient{t: t, conn: conn, in: logwire.NewReader(conn)}
	r.send(logwire.Hello{Client: b.Client}.Append([]byte(logwire.Magic)))
	r.send(dataFrame(&b, logwire.CompressNone, b.Data))
	for _, want := range []byte{logwire.KindWelcome, logwire.KindAck} {
		if kind, n, refusal := r.next(); kind != want {
			t.Errorf("got %c, %d, %v, want %c", kind, n, refusal, want)
		}
	}
}

// dataFrame returns the frame of a batch, whose data is compressed to the payload.
func dataFrame(b *logs.Batch, compression byte, payload []byte) []byte {
	head := logwire.DataHead{
		Compression: compression, First: b.First, Last: b.Last, Count: b.Count, Size: len(b.Data), Min: b.Min, Max: b.Max, Service: []byte(b.Service),
	}
	return append(head.Append(nil, payload), payload...)
}

func FuzzCheckBatch(f *testing.F) {
	b := logs.Batch{Service: "api", First: 1, Last: 1}
	b.Add(&logs.View{Time: 5, Message: []byte("m")})
	f.Add(b.Data, b.Count, b.Min, b.Max)
	f.Fuzz(func(t *testing.T, data []byte, count int, oldest, newest int64) {
		b := logs.Batch{Service: "api", Count: count, Min: oldest, Max: newest, Data: data}
		if checkBatch(&b) != nil {
			return
		}
		for _, err := range b.Views {
			if count--; err != nil {
				t.Error(err)
			}
		}
		if count != 0 {
			t.Errorf("the batch is as it says, but for %d records", count)
		}
	})
}
