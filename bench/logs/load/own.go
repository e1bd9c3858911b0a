package load

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
)

// Own is the protocol of package logs, implemented here without its client, so that sending a load costs little: the records of a
// batch are encoded once, and only the numbers change. Send returns when the server has acknowledged all of them.
const Own Format = "own"

const (
	ownBatch  = 1000 // records per batch
	ownWindow = 16   // unacknowledged batches per connection
	headSize  = 9    // kind, length and checksum of a frame
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// An ownBuffer is a frame that holds a batch.
type ownBuffer struct {
	frame  []byte
	data   int // where the records start
	record int // bytes per record
	digits int // where the digits of its number start in it
}

func newOwnBuffer(conn int) ownBuffer {
	v := logs.View{Time: time.Now().UnixNano(), Message: fmt.Appendf(nil, "#c%03d n00000000#", conn)}
	v.Message = append(v.Message, filler[:MessageSize-len(v.Message)]...)
	o := ownBuffer{frame: make([]byte, headSize)}
	b := append(o.frame, 0) // not compressed
	b = append(b, make([]byte, 8+8)...)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(v.Time))
	b = binary.LittleEndian.AppendUint64(b, uint64(v.Time))
	b = append(append(b, 3, 0), "app"...)
	o.data = len(b)
	one := v.Append(nil)
	o.record = len(one)
	for o.digits = 0; string(one[o.digits:o.digits+2]) != mark; o.digits++ {
	}
	o.digits += markSize - 1 - 8
	for range ownBatch {
		b = append(b, one...)
	}
	o.frame = b
	return o
}

// batch returns the frame with the next count records of a connection, which has sent n before.
func (o ownBuffer) batch(n, count int) []byte {
	b := o.frame[:o.data+count*o.record]
	for i := range count {
		at := o.data + i*o.record + o.digits
		number(b[at:at+8], n+i)
	}
	body := b[headSize:]
	binary.LittleEndian.PutUint64(body[1:], uint64(n+1))
	binary.LittleEndian.PutUint64(body[9:], uint64(n+count))
	binary.LittleEndian.PutUint32(body[17:], uint32(count))
	binary.LittleEndian.PutUint32(body[21:], uint32(count*o.record))
	seal('D', b)
	return b
}

// seal writes the head of a frame.
func seal(kind byte, frame []byte) {
	frame[0] = kind
	binary.LittleEndian.PutUint32(frame[1:], uint32(len(frame)-headSize))
	sum := crc32.Update(crc32.Checksum(frame[:5], castagnoli), castagnoli, frame[headSize:])
	binary.LittleEndian.PutUint32(frame[5:], sum)
}

func (l Load) sendOwn(ctx context.Context, c net.Conn, conn int) error {
	id := logs.NewClient()
	hello := append(append(make([]byte, headSize), id[:]...), byte(len(l.Key)), 0)
	hello = append(hello, l.Key...)
	seal('H', hello)
	if _, err := c.Write(append([]byte("mwlogs1\n"), hello...)); err != nil {
		return err
	}
	answers := bufio.NewReader(c)
	if _, err := answer(answers, 'W'); err != nil {
		return err
	}
	all := l.each(conn)
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		window := meanwhile.NewSemaphore(ownWindow)
		meanwhile.Go(ctx, func(context.Context) error {
			for acknowledged := 0; acknowledged < all; {
				body, err := answer(answers, 'A')
				if err != nil {
					return err
				}
				n := int(binary.LittleEndian.Uint64(body))
				window.Release((n+ownBatch-1)/ownBatch - (acknowledged+ownBatch-1)/ownBatch)
				acknowledged = n
			}
			return nil
		}, meanwhile.Name("acknowledgements"))
		buffer := newOwnBuffer(conn)
		for n := 0; n < all; n += ownBatch {
			if err := window.Acquire(ctx, 1); err != nil {
				return err
			}
			if _, err := c.Write(buffer.batch(n, min(ownBatch, all-n))); err != nil {
				return fmt.Errorf("send record %d: %w", n, err)
			}
		}
		return nil
	})
}

// answer reads a frame of the given kind, and returns its body.
func answer(in *bufio.Reader, kind byte) ([]byte, error) {
	head := make([]byte, headSize)
	if _, err := io.ReadFull(in, head); err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint32(head[1:])
	if size > 1<<10 {
		return nil, errors.New("the server answers with a frame that is too long")
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(in, body); err != nil {
		return nil, err
	}
	if head[0] != kind || kind == 'A' && size != 8 {
		return nil, fmt.Errorf("the server answers %c %q, want %c", head[0], body, kind)
	}
	return body, nil
}

// CountRecords is Count for the records of the service app in a store.
func (l Load) CountRecords(records meanwhile.Stream[logs.Record]) (Tally, error) {
	c := l.newCounter()
	var line []byte
	for r, err := range records {
		if err != nil {
			return c.tally, err
		}
		line = append(append(line[:0], r.Message...), '\n')
		c.line(line)
	}
	return c.done(), nil
}
