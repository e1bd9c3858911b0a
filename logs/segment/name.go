package segment

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/meanwhile-go/meanwhile/internal/datafolder"
)

// maxEscaped is the longest name of a directory; file systems allow 255 bytes.
const maxEscaped = 200

// escapeName returns the name of the directory of a service. Lower-case letters, digits and the characters -_. stay, except for a dot at
// the beginning; all other bytes are written in hexadecimal, also those of upper-case letters, which some file systems do not distinguish
// from lower-case ones. A name that gets too long ends in a hash; its segments have the name of the service.
func escapeName(service string) string {
	var b strings.Builder
	for i := range len(service) {
		c := service[i]
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.' && i > 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return datafolder.ShortName(b.String(), service, maxEscaped)
}

// unescapeName returns the service of a directory, and whether the directory's name has it.
func unescapeName(dir string) (service string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(dir); i++ {
		if dir[i] != '%' {
			b.WriteByte(dir[i])
			continue
		}
		if i+3 > len(dir) {
			return "", false
		}
		c, err := strconv.ParseUint(dir[i+1:i+3], 16, 8)
		if err != nil {
			return "", false
		}
		b.WriteByte(byte(c))
		i += 2
	}
	return b.String(), b.Len() > 0 && escapeName(b.String()) == dir
}
