package logs

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"github.com/meanwhile-go/meanwhile/internal/logwire"
)

// A Client identifies one client and its spool, so that a server knows which records of the client it already has. The zero Client
// means no identity: a server stores its records as they arrive, also duplicates.
type Client [16]byte

// NewClient returns an identity that no other client has.
func NewClient() (c Client) {
	_, _ = rand.Read(c[:]) // never fails
	return c
}

// String returns the identity as 32 hexadecimal digits.
func (c Client) String() string { return hex.EncodeToString(c[:]) }

// ParseClient parses the text that [Client.String] returns.
func ParseClient(text string) (c Client, err error) {
	if n, err := hex.Decode(c[:], []byte(text)); err != nil || n != len(c) {
		return Client{}, fmt.Errorf("the identity of a client is 32 hexadecimal digits, not %q", text)
	}
	return c, nil
}

// A Batch is a sequence of encoded records of one service, and of one client or of none. Clients, spools and stores pass batches on
// without decoding them. Functions that receive a batch do not change it.
type Batch struct {
	Service  string
	Client   Client // if it is zero, First and Last mean nothing
	First    uint64 // the number that the client gave the first record; a client numbers its records from 1 on, across all its services
	Last     uint64 // the number of the last record; there are more numbers than records if some were left out on the way
	Count    int    // the number of records
	Min, Max int64  // the times of the oldest and the newest record, nanoseconds since 1970
	Data     []byte // encoded records
}

// Bounds of a batch; a reader checks them before it allocates memory.
const (
	MaxBatch        = logwire.MaxBatch        // bytes of encoded records
	MaxBatchRecords = logwire.MaxBatchRecords // number of records
)

// Views yields the records of the batch, which refer to its data. A damaged record ends the sequence with an error.
func (b *Batch) Views(yield func(v *View, err error) bool) {
	v := View{Service: []byte(b.Service)}
	for data := b.Data; len(data) > 0; {
		rest, err := v.Next(data)
		if !yield(&v, err) || err != nil {
			return
		}
		data = rest
	}
}

// Add appends a record to Data, and updates Count, Min and Max.
func (b *Batch) Add(v *View) {
	if b.Count == 0 {
		b.Min, b.Max = v.Time, v.Time
	}
	b.Min, b.Max = min(b.Min, v.Time), max(b.Max, v.Time)
	b.Data = v.Append(b.Data)
	b.Count++
}
