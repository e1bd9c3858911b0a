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

// acceptsGzip reports whether a browser takes gzip.
func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, weight, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			return strings.Trim(strings.TrimSpace(weight), "q=0.") != "" || weight == ""
		}
	}
	return false
}

// A gzipStream is the file format around texts that were deflated one by one, so that many streams share what was deflated once.
type gzipStream struct{ sum, size uint32 }

// gzipHead begins a stream: a file without a name and a time.
var gzipHead = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}

// add counts a text that was sent deflated.
func (g *gzipStream) add(text []byte) {
	g.sum, g.size = crc32.Update(g.sum, crc32.IEEETable, text), g.size+uint32(len(text))
}

// end returns what ends the stream: an empty last block, and the sums.
func (g *gzipStream) end() []byte {
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32([]byte{1, 0, 0, 0xff, 0xff}, g.sum), g.size)
}

var deflaters sync.Pool // of *flate.Writer

// deflated returns a text as blocks of a stream that refer to nothing before them and let others follow.
func deflated(text []byte) []byte {
	var b bytes.Buffer
	w, ok := deflaters.Get().(*flate.Writer)
	if !ok {
		w, _ = flate.NewWriter(nil, flate.DefaultCompression) // whose only error is a wrong level
	}
	defer deflaters.Put(w)
	w.Reset(&b)
	_, _ = w.Write(text) // a buffer takes everything
	_ = w.Flush()
	return b.Bytes()
}

// gzipped returns a text as a file.
func gzipped(text []byte) []byte {
	var g gzipStream
	g.add(text)
	return bytes.Join([][]byte{gzipHead, deflated(text), g.end()}, nil)
}
