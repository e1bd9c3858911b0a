package logs

import "github.com/klauspost/compress/zstd"

func newCompressor() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return e
}

func newDecompressor() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(wireMaxBatch), zstd.WithDecoderLowmem(true))
	if err != nil {
		panic(err)
	}
	return d
}

// decompress puts into room what payload holds: exactly size bytes, or it is an error. It never makes more than wireMaxBatch
// bytes of it.
func decompress(d *zstd.Decoder, room, payload []byte, size int) ([]byte, error) {
	data, err := d.DecodeAll(payload, room[:0])
	if err != nil || len(data) != size {
		return nil, errFrameBody
	}
	return data, nil
}
