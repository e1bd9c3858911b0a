// Package load sends log messages as fast as a server takes them, and counts those that arrive in its files. Every message has
// the number of its connection and its number within it, so that lost, duplicate and late messages are detected in the written
// files. It sends a given number of messages, only to addresses of this machine.
package load

import (
	"fmt"
	"strconv"
	"strings"
)

// A Format is how a protocol writes a message.
type Format string

// The formats. All but the first are syslog over TCP.
const (
	Analogger Format = "analogger"
	Octets    Format = "rfc5424-octets" // RFC 5424, each message preceded by its length
	Lines     Format = "rfc5424-lf"     // RFC 5424, each message on a line
	BSD       Format = "rfc3164-lf"     // RFC 3164, each message on a line
)

// Formats are all formats except [Own].
var Formats = []Format{Analogger, Octets, Lines, BSD}

// MessageSize is the length of a message's text in bytes; the frame around it is longer.
const MessageSize = 100

// A message has its connection and its number: "#c007 n00000042#", followed by padding.
const (
	mark      = "#c"
	markSize  = len("#c000 n00000000#")
	mostConns = 1000
	mostEach  = 100_000_000
)

var filler = strings.Repeat(" searching for a word", MessageSize)

// frame returns a message of a connection with the number 0, and where the digits of the number end in it.
func (f Format) frame(conn int) (frame []byte, digits int, err error) {
	text := fmt.Sprintf("#c%03d n00000000#", conn)
	text += filler[:MessageSize-len(text)]
	switch f {
	case Analogger:
		size := 8 + 3 + len("app") + len("info") + len(text)
		frame = fmt.Appendf(nil, "%04d%04d:app:info:%s", size, size, text)
	case Octets:
		whole := "<14>1 2026-05-04T03:02:01.000000Z host app 7 - - " + text
		frame = []byte(strconv.Itoa(len(whole)) + " " + whole)
	case Lines:
		frame = []byte("<14>1 2026-05-04T03:02:01.000000Z host app 7 - - " + text + "\n")
	case BSD:
		frame = []byte("<14>May  4 03:02:01 host app: " + text + "\n")
	default:
		return nil, 0, fmt.Errorf("there is no format %q", f)
	}
	return frame, strings.Index(string(frame), mark) + markSize - 1, nil
}
