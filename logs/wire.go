package logs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// The frames of the protocol that docs/logs-protocol.md describes, which spools hold as well.
const (
	wireMagic = "mwlogs1\n" // the last but one byte is the version
	wireHead  = 1 + 4 + 4   // kind, length of the body, checksum

	frameHello   = 'H'
	frameWelcome = 'W'
	frameData    = 'D'
	frameAck     = 'A'
	framePing    = 'P'
	framePong    = 'Q'
	frameBye     = 'B'
	frameRefusal = 'R'

	compressNone = 0
	compressZstd = 1

	dataFixed  = 1 + 8 + 8 + 4 + 4 + 8 + 8 + 2 // of the body of a data frame, before the name of the service
	maxKey     = 512
	maxRefusal = 512
	maxSmall   = 1 << 10                          // of the body of any frame but a data frame
	maxData    = dataFixed + 1<<16 - 1 + MaxBatch // with the longest short text: names are checked by who stores them
)

var (
	castagnoli   = crc32.MakeTable(crc32.Castagnoli)
	errTorn      = errors.New("the frame is not whole")
	errChecksum  = errors.New("a frame does not have its checksum")
	errFrameSize = errors.New("a frame is longer than frames of its kind are")
	errFrameBody = errors.New("a frame does not hold what frames of its kind do")
)

// A hello is what a client says first.
type hello struct {
	client Client
	key    string
}

// A welcome is the answer to a hello.
type welcome struct {
	last         uint64 // the highest number the server has of the client
	compressions byte   // those it takes beside none: bit n for compression n
}

func (h hello) append(b []byte) []byte {
	return appendFrame(b, frameHello, func(b []byte) []byte {
		return appendShort(append(b, h.client[:]...), h.key)
	})
}

func (h *hello) parse(body []byte) error {
	if len(body) < len(h.client) {
		return errFrameBody
	}
	body = body[copy(h.client[:], body):]
	key, _, ok := cutShort(body)
	if !ok || len(key) > maxKey {
		return errFrameBody
	}
	h.key = string(key)
	return nil
}

func (w welcome) append(b []byte) []byte {
	return appendFrame(b, frameWelcome, func(b []byte) []byte {
		return append(binary.LittleEndian.AppendUint64(b, w.last), w.compressions)
	})
}

func (w *welcome) parse(body []byte) error {
	if len(body) < 9 {
		return errFrameBody
	}
	w.last, w.compressions = binary.LittleEndian.Uint64(body), body[8]
	return nil
}

// appendNumber appends a frame whose body is a number: an acknowledgement, a ping or its answer.
func appendNumber(b []byte, kind byte, n uint64) []byte {
	return appendFrame(b, kind, func(b []byte) []byte { return binary.LittleEndian.AppendUint64(b, n) })
}

func parseNumber(body []byte) (uint64, error) {
	if len(body) != 8 {
		return 0, errFrameBody
	}
	return binary.LittleEndian.Uint64(body), nil
}

func appendBye(b []byte) []byte {
	return appendFrame(b, frameBye, func(b []byte) []byte { return b })
}

// appendData appends a data frame without the payload that is to follow it: the batch's data, compressed as said.
func appendData(b []byte, batch *Batch, compression byte, payload []byte) []byte {
	begin := len(b)
	b = append(b, frameData, 0, 0, 0, 0, 0, 0, 0, 0, compression)
	b = binary.LittleEndian.AppendUint64(b, batch.First)
	b = binary.LittleEndian.AppendUint64(b, batch.Last)
	b = binary.LittleEndian.AppendUint32(b, uint32(batch.Count))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(batch.Data)))
	b = binary.LittleEndian.AppendUint64(b, uint64(batch.Min))
	b = binary.LittleEndian.AppendUint64(b, uint64(batch.Max))
	b = appendShort(b, batch.Service)
	sealFrame(b[begin:], payload)
	return b
}

// A dataHead is what a data frame says of its payload.
type dataHead struct {
	compression byte
	first, last uint64
	count, size int
	min, max    int64
	service     []byte
}

// parseData takes a data frame apart, checks what can be checked without its records, and returns the payload.
func parseData(body []byte) (h dataHead, payload []byte, err error) {
	if len(body) < dataFixed {
		return h, nil, errFrameBody
	}
	h.compression = body[0]
	h.first = binary.LittleEndian.Uint64(body[1:])
	h.last = binary.LittleEndian.Uint64(body[9:])
	count, size := binary.LittleEndian.Uint32(body[17:]), binary.LittleEndian.Uint32(body[21:])
	h.min = int64(binary.LittleEndian.Uint64(body[25:]))
	h.max = int64(binary.LittleEndian.Uint64(body[33:]))
	service, payload, ok := cutShort(body[41:])
	switch {
	case !ok:
		return h, nil, errFrameBody
	case count == 0 || count > MaxBatchRecords || size == 0 || size > MaxBatch || h.min > h.max:
		return h, nil, errFrameBody
	case h.first == 0 || h.last < h.first || h.last-h.first < uint64(count-1):
		return h, nil, errFrameBody
	case h.compression > compressZstd || h.compression == compressNone && len(payload) != int(size):
		return h, nil, errFrameBody
	}
	h.count, h.size, h.service = int(count), int(size), service
	return h, payload, nil
}

// appendFrame appends a frame whose body is appended by f.
func appendFrame(b []byte, kind byte, f func([]byte) []byte) []byte {
	begin := len(b)
	b = f(append(b, kind, 0, 0, 0, 0, 0, 0, 0, 0))
	sealFrame(b[begin:], nil)
	return b
}

// sealFrame sets length and checksum of a frame, of which the rest follows elsewhere.
func sealFrame(frame, rest []byte) {
	binary.LittleEndian.PutUint32(frame[1:], uint32(len(frame)-wireHead+len(rest)))
	sum := crc32.Update(frameSum(frame, frame[wireHead:]), castagnoli, rest)
	binary.LittleEndian.PutUint32(frame[5:], sum)
}

// frameSum returns the checksum over kind, length and body.
func frameSum(head, body []byte) uint32 {
	return crc32.Update(crc32.Checksum(head[:5], castagnoli), castagnoli, body)
}

// frameSize returns the size of the body of the frame that begins with head, or an error when none is so long.
func frameSize(head []byte) (int, error) {
	size := binary.LittleEndian.Uint32(head[1:])
	limit := uint32(maxSmall)
	if head[0] == frameData {
		limit = maxData
	}
	if size > limit {
		return 0, errFrameSize
	}
	return int(size), nil
}

func checkFrame(head, body []byte) error {
	if frameSum(head, body) != binary.LittleEndian.Uint32(head[5:]) {
		return errChecksum
	}
	return nil
}

// cutFrame returns the frame at the beginning of data, and what follows it; errTorn when data ends before the frame.
func cutFrame(data []byte) (kind byte, body, rest []byte, err error) {
	if len(data) < wireHead {
		return 0, nil, nil, errTorn
	}
	size, err := frameSize(data)
	if err != nil {
		return 0, nil, nil, err
	}
	if len(data)-wireHead < size {
		return 0, nil, nil, errTorn
	}
	body, rest = data[wireHead:wireHead+size], data[wireHead+size:]
	return data[0], body, rest, checkFrame(data, body)
}

func appendShort(b []byte, text string) []byte {
	return append(binary.LittleEndian.AppendUint16(b, uint16(len(text))), text...)
}

func cutShort(b []byte) (text, rest []byte, ok bool) {
	if len(b) < 2 {
		return nil, nil, false
	}
	end := 2 + int(binary.LittleEndian.Uint16(b))
	if end > len(b) {
		return nil, nil, false
	}
	return b[2:end], b[end:], true
}

// A RefusalCode says why a server does not go on with a connection.
type RefusalCode byte

// The reasons; docs/logs-protocol.md says what a client does about each.
const (
	RefusedVersion     RefusalCode = iota + 1 // no protocol, or a version the server does not speak
	RefusedKey                                // the key is wrong or missing
	RefusedFrame                              // a frame breaks the protocol
	RefusedSuperseded                         // the same client has opened another connection
	RefusedUnavailable                        // the records cannot be kept at present
	RefusedLeaving                            // the server ends, or asks for a new connection
)

// String returns a word for the reason.
func (c RefusalCode) String() string {
	words := [...]string{"", "version", "key", "frame", "superseded", "unavailable", "leaving"}
	if int(c) >= len(words) || c == 0 {
		return fmt.Sprintf("reason %d", byte(c))
	}
	return words[c]
}

// A Refusal is the end of a connection as the server reports it to its client. It is an error on both sides.
type Refusal struct {
	Code RefusalCode
	Text string
}

// Error says that and why the connection was refused.
func (r *Refusal) Error() string { return fmt.Sprintf("refused (%s): %q", r.Code, r.Text) }

func (r *Refusal) append(b []byte) []byte {
	return appendFrame(b, frameRefusal, func(b []byte) []byte {
		return appendShort(append(b, byte(r.Code)), r.Text[:min(len(r.Text), maxRefusal)])
	})
}

func (r *Refusal) parse(body []byte) error {
	if len(body) == 0 {
		return errFrameBody
	}
	text, _, ok := cutShort(body[1:])
	if !ok || len(text) > maxRefusal {
		return errFrameBody
	}
	r.Code, r.Text = RefusalCode(body[0]), string(text)
	return nil
}
