package logs

import (
	"encoding/binary"
	"errors"
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
	maxSmall   = 1 << 10                              // of the body of any frame but a data frame
	maxData    = dataFixed + 1<<16 - 1 + wireMaxBatch // with the longest short text: names are checked by who stores them
)

// Bounds of a batch; a reader checks them before it makes room.
const (
	wireMaxBatch        = 4 << 20   // bytes of its records
	wireMaxBatchRecords = 256 << 10 // records
)

var (
	castagnoli   = crc32.MakeTable(crc32.Castagnoli)
	errChecksum  = errors.New("a frame does not have its checksum")
	errFrameSize = errors.New("a frame is longer than frames of its kind are")
	errFrameBody = errors.New("a frame does not hold what frames of its kind do")
)

// A hello is what a client says first.
type hello struct {
	client [16]byte
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

// A dataHead is what a data frame says of its payload, which is a batch of records.
type dataHead struct {
	compression byte
	first, last uint64 // the numbers of its records
	count, size int    // records, and bytes of them before they were compressed
	min, max    int64  // the times of its records
	service     []byte
}

// append appends a data frame without the payload that is to follow it.
func (h *dataHead) append(b, payload []byte) []byte {
	begin := len(b)
	b = append(b, frameData, 0, 0, 0, 0, 0, 0, 0, 0, h.compression)
	b = binary.LittleEndian.AppendUint64(b, h.first)
	b = binary.LittleEndian.AppendUint64(b, h.last)
	b = binary.LittleEndian.AppendUint32(b, uint32(h.count))
	b = binary.LittleEndian.AppendUint32(b, uint32(h.size))
	b = binary.LittleEndian.AppendUint64(b, uint64(h.min))
	b = binary.LittleEndian.AppendUint64(b, uint64(h.max))
	b = appendShort(b, h.service)
	sealFrame(b[begin:], payload)
	return b
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
	case count == 0 || count > wireMaxBatchRecords || size == 0 || size > wireMaxBatch || h.min > h.max:
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

func appendShort[T string | []byte](b []byte, text T) []byte {
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

// appendRefusal appends a refusal, of whose text there is the beginning.
func appendRefusal(b []byte, code byte, text string) []byte {
	return appendFrame(b, frameRefusal, func(b []byte) []byte {
		return appendShort(append(b, code), text[:min(len(text), maxRefusal)])
	})
}

func parseRefusal(body []byte) (code byte, text string, err error) {
	if len(body) == 0 {
		return 0, "", errFrameBody
	}
	rest, _, ok := cutShort(body[1:])
	if !ok || len(rest) > maxRefusal {
		return 0, "", errFrameBody
	}
	return body[0], string(rest), nil
}
