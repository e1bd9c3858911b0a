package dash

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash/crc32"
	"net/http"
	"strings"
	"sync"
)

// acceptsGzip reports whether a browser accepts gzip.
func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, weight, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			return strings.Trim(strings.TrimSpace(weight), "q=0.") != "" || weight == ""
		}
	}
	return false
}

// A gzipStream is the gzip format around texts that were deflated separately, so that many streams share each deflated text.
type gzipStream struct{ sum, size uint32 }

// gzipHead is the start of a gzip file without a name and a time.
var gzipHead = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}

// add adds a text, sent deflated, to the checksum.
func (g *gzipStream) add(text []byte) {
	g.sum, g.size = crc32.Update(g.sum, crc32.IEEETable, text), g.size+uint32(len(text))
}

// end returns the end of the stream: an empty last block, the checksum and the size.
func (g *gzipStream) end() []byte {
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32([]byte{1, 0, 0, 0xff, 0xff}, g.sum), g.size)
}

var deflaters sync.Pool // of *flate.Writer

// deflated returns a text as deflate blocks that do not refer to previous ones, and can be followed by others.
func deflated(text []byte) []byte {
	var b bytes.Buffer
	w, ok := deflaters.Get().(*flate.Writer)
	if !ok {
		w, _ = flate.NewWriter(nil, flate.DefaultCompression) // its only error is an invalid level
	}
	defer deflaters.Put(w)
	w.Reset(&b)
	_, _ = w.Write(text) // writing to a buffer cannot fail
	_ = w.Flush()
	return b.Bytes()
}

// gzipped returns a text as a gzip file.
func gzipped(text []byte) []byte {
	var g gzipStream
	g.add(text)
	return bytes.Join([][]byte{gzipHead, deflated(text), g.end()}, nil)
}
