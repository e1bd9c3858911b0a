package logwire

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// The frames of the protocol that docs/logs-protocol.md describes. Spools store the same frames.
const (
	Magic    = "mwlogs1\n" // the next to last byte is the version
	HeadSize = 1 + 4 + 4   // kind, length of the body, checksum

	KindHello   = 'H'
	KindWelcome = 'W'
	KindData    = 'D'
	KindAck     = 'A'
	KindPing    = 'P'
	KindPong    = 'Q'
	KindBye     = 'B'
	KindRefusal = 'R'

	CompressNone = 0
	CompressZstd = 1

	DataFixed  = 1 + 8 + 8 + 4 + 4 + 8 + 8 + 2 // bytes of the body of a data frame before the name of the service
	MaxKey     = 512
	maxRefusal = 512
	maxSmall   = 1 << 10                          // bytes of the body of any other frame than a data frame
	maxData    = DataFixed + 1<<16 - 1 + MaxBatch // with the longest possible short text: the length of names is checked where they are stored
)

// Limits of a batch. A reader checks them before it allocates memory.
const (
	MaxBatch        = 4 << 20   // bytes of its records
	MaxBatchRecords = 256 << 10 // records
)

var (
	castagnoli  = crc32.MakeTable(crc32.Castagnoli)
	ErrChecksum = errors.New("a frame does not have its checksum")
	ErrSize     = errors.New("a frame is longer than frames of its kind are")
	ErrBody     = errors.New("a frame does not hold what frames of its kind do")
)

// A Hello is the first frame that a client sends.
type Hello struct {
	Client [16]byte
	Key    string
}

// A Welcome is the answer to a hello.
type Welcome struct {
	Last         uint64 // the highest record number that the server has of the client
	Compressions byte   // bit n is set if the server accepts compression n; no compression is always accepted
}

func (h Hello) Append(b []byte) []byte {
	return appendFrame(b, KindHello, func(b []byte) []byte {
		return AppendShort(append(b, h.Client[:]...), h.Key)
	})
}

func (h *Hello) Parse(body []byte) error {
	if len(body) < len(h.Client) {
		return ErrBody
	}
	body = body[copy(h.Client[:], body):]
	key, _, ok := Truncated(body)
	if !ok || len(key) > MaxKey {
		return ErrBody
	}
	h.Key = string(key)
	return nil
}

func (w Welcome) Append(b []byte) []byte {
	return appendFrame(b, KindWelcome, func(b []byte) []byte {
		return append(binary.LittleEndian.AppendUint64(b, w.Last), w.Compressions)
	})
}

func (w *Welcome) Parse(body []byte) error {
	if len(body) < 9 {
		return ErrBody
	}
	w.Last, w.Compressions = binary.LittleEndian.Uint64(body), body[8]
	return nil
}

// AppendNumber appends a frame whose body is a number: an acknowledgement, a ping or its answer.
func AppendNumber(b []byte, kind byte, n uint64) []byte {
	return appendFrame(b, kind, func(b []byte) []byte { return binary.LittleEndian.AppendUint64(b, n) })
}

func ParseNumber(body []byte) (uint64, error) {
	if len(body) != 8 {
		return 0, ErrBody
	}
	return binary.LittleEndian.Uint64(body), nil
}

func AppendBye(b []byte) []byte {
	return appendFrame(b, KindBye, func(b []byte) []byte { return b })
}

// A DataHead is the head of a data frame. It describes the payload, which is a batch of records.
type DataHead struct {
	Compression byte
	First, Last uint64 // the numbers of its records
	Count, Size int    // records, and bytes of them before they were compressed
	Min, Max    int64  // the times of its records
	Service     []byte
}

// Append appends a data frame without its payload, which the caller sends after it.
func (h *DataHead) Append(b, payload []byte) []byte {
	begin := len(b)
	b = append(b, KindData, 0, 0, 0, 0, 0, 0, 0, 0, h.Compression)
	b = binary.LittleEndian.AppendUint64(b, h.First)
	b = binary.LittleEndian.AppendUint64(b, h.Last)
	b = binary.LittleEndian.AppendUint32(b, uint32(h.Count))
	b = binary.LittleEndian.AppendUint32(b, uint32(h.Size))
	b = binary.LittleEndian.AppendUint64(b, uint64(h.Min))
	b = binary.LittleEndian.AppendUint64(b, uint64(h.Max))
	b = AppendShort(b, h.Service)
	sealFrame(b[begin:], payload)
	return b
}

// ParseData parses a data frame, checks what can be checked without its records, and returns the payload.
func ParseData(body []byte) (h DataHead, payload []byte, err error) {
	if len(body) < DataFixed {
		return h, nil, ErrBody
	}
	h.Compression = body[0]
	h.First = binary.LittleEndian.Uint64(body[1:])
	h.Last = binary.LittleEndian.Uint64(body[9:])
	count, size := binary.LittleEndian.Uint32(body[17:]), binary.LittleEndian.Uint32(body[21:])
	h.Min = int64(binary.LittleEndian.Uint64(body[25:]))
	h.Max = int64(binary.LittleEndian.Uint64(body[33:]))
	service, payload, ok := Truncated(body[41:])
	switch {
	case !ok:
		return h, nil, ErrBody
	case count == 0 || count > MaxBatchRecords || size == 0 || size > MaxBatch || h.Min > h.Max:
		return h, nil, ErrBody
	case h.First == 0 || h.Last < h.First || h.Last-h.First < uint64(count-1):
		return h, nil, ErrBody
	case h.Compression > CompressZstd || h.Compression == CompressNone && len(payload) != int(size):
		return h, nil, ErrBody
	}
	h.Count, h.Size, h.Service = int(count), int(size), service
	return h, payload, nil
}

// appendFrame appends a frame whose body is appended by f.
func appendFrame(b []byte, kind byte, f func([]byte) []byte) []byte {
	begin := len(b)
	b = f(append(b, kind, 0, 0, 0, 0, 0, 0, 0, 0))
	sealFrame(b[begin:], nil)
	return b
}

// sealFrame sets the length and the checksum of a frame whose rest is stored separately.
func sealFrame(frame, rest []byte) {
	binary.LittleEndian.PutUint32(frame[1:], uint32(len(frame)-HeadSize+len(rest)))
	sum := crc32.Update(frameSum(frame, frame[HeadSize:]), castagnoli, rest)
	binary.LittleEndian.PutUint32(frame[5:], sum)
}

// frameSum returns the checksum over kind, length and body.
func frameSum(head, body []byte) uint32 {
	return crc32.Update(crc32.Checksum(head[:5], castagnoli), castagnoli, body)
}

// BodySize returns the size of the body of the frame that begins with head, or an error if no frame may be that long.
func BodySize(head []byte) (int, error) {
	size := binary.LittleEndian.Uint32(head[1:])
	limit := uint32(maxSmall)
	if head[0] == KindData {
		limit = maxData
	}
	if size > limit {
		return 0, ErrSize
	}
	return int(size), nil
}

func Check(head, body []byte) error {
	if frameSum(head, body) != binary.LittleEndian.Uint32(head[5:]) {
		return ErrChecksum
	}
	return nil
}

func AppendShort[T string | []byte](b []byte, text T) []byte {
	return append(binary.LittleEndian.AppendUint16(b, uint16(len(text))), text...)
}

func Truncated(b []byte) (text, rest []byte, ok bool) {
	if len(b) < 2 {
		return nil, nil, false
	}
	end := 2 + int(binary.LittleEndian.Uint16(b))
	if end > len(b) {
		return nil, nil, false
	}
	return b[2:end], b[end:], true
}

// AppendRefusal appends a refusal, with its text shortened if it is too long.
func AppendRefusal(b []byte, code byte, text string) []byte {
	return appendFrame(b, KindRefusal, func(b []byte) []byte {
		return AppendShort(append(b, code), text[:min(len(text), maxRefusal)])
	})
}

func ParseRefusal(body []byte) (code byte, text string, err error) {
	if len(body) == 0 {
		return 0, "", ErrBody
	}
	rest, _, ok := Truncated(body[1:])
	if !ok || len(rest) > maxRefusal {
		return 0, "", ErrBody
	}
	return body[0], string(rest), nil
}
