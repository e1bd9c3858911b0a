package logwire

import "github.com/klauspost/compress/zstd"

func NewCompressor() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return e
}

func NewDecompressor() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(MaxBatch), zstd.WithDecoderLowmem(true))
	if err != nil {
		panic(err)
	}
	return d
}

// Decompress decompresses payload into buf. It fails unless the result is exactly size bytes. It never decompresses to more than MaxBatch bytes.
func Decompress(d *zstd.Decoder, buf, payload []byte, size int) ([]byte, error) {
	data, err := d.DecodeAll(payload, buf[:0])
	if err != nil || len(data) != size {
		return nil, ErrBody
	}
	return data, nil
}
