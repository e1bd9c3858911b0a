package segment

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"github.com/meanwhile-go/meanwhile/logs"
)

// A codec is the compression of stored data.
type codec byte

const (
	plain codec = iota
	quick       // S2, for segments that are made while records come in
	dense       // zstd, for segments that are made of others
)

// blockBytes is the size of a block of a segment before it is compressed, give or take a record.
const blockBytes = 1 << 20

// maxRaw is the largest size of an entry before it is compressed, in bytes.
const maxRaw = max(logs.MaxBatch, blockBytes+logs.MaxRecord)

// compress appends raw to b, compressed.
func (c codec) compress(b, raw []byte) []byte {
	switch c {
	case quick:
		n := s2.MaxEncodedLen(len(raw))
		if cap(b)-len(b) < n {
			b = append(make([]byte, 0, len(b)+n), b...)
		}
		return b[:len(b)+len(s2.Encode(b[len(b):len(b)+n], raw))]
	case dense:
		e := encoders.Get().(*zstd.Encoder)
		defer encoders.Put(e)
		return e.EncodeAll(raw, b)
	}
	return append(b, raw...)
}

// expand returns the decompressed data, which has size bytes. It uses the memory of b if that is large enough.
func (c codec) expand(b, stored []byte, size uint32) ([]byte, error) {
	if size > maxRaw {
		return nil, errDamaged
	}
	if uint32(cap(b)) < size {
		b = make([]byte, size)
	}
	var err error
	switch c {
	case plain:
		if uint32(len(stored)) != size {
			return nil, errDamaged
		}
		return append(b[:0], stored...), nil
	case quick:
		if n, err := s2.DecodedLen(stored); err != nil || uint32(n) != size {
			return nil, errDamaged
		}
		b, err = s2.Decode(b[:size], stored)
	case dense:
		d := decoders.Get().(*zstd.Decoder)
		defer decoders.Put(d)
		b, err = d.DecodeAll(stored, b[:0])
	default:
		err = errDamaged
	}
	if err != nil || uint32(len(b)) != size {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return b, nil
}

// Encoders and decoders are slow to create, and large.
var (
	encoders = sync.Pool{New: func() any {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderCRC(false), zstd.WithWindowSize(blockBytes))
		if err != nil {
			panic(err) // only options can cause it
		}
		return e
	}}
	decoders = sync.Pool{New: func() any {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxRaw), zstd.WithDecoderMaxWindow(maxRaw))
		if err != nil {
			panic(err) // only options can cause it
		}
		return d
	}}
)
