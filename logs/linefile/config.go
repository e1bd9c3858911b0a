package linefile

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/datafolder"
)

// Sync is when the contents of line files are synced to disk. Records of the own protocol are synced in the [server.Config.Journal], if
// there is one, and in the file at the next interval.
type Sync string

// The values of Sync. With each of them, what was written survives the end of the process.
const (
	SyncAlways   Sync = "always"   // before it is acknowledged, and each interval
	SyncInterval Sync = "interval" // each interval: a power failure loses what was written since
	SyncOS       Sync = "os"       // when the operating system does
)

// A Config describes a file that records are written to, one line each.
type Config struct {
	Path     string        // {service} in it stands for the name of the service, escaped so that it has no slash; above 180 bytes it ends in a hash
	Mode     uint32        // of a new file; default 0640
	MaxBytes int64         // rotate the file before it would become larger; 0: never
	Daily    bool          // rotate the file each day
	Compress bool          // compress rotated files with zstd
	MaxAge   time.Duration // delete rotated files that are older; 0: never
	MaxTotal int64         // delete the oldest rotated files when the file and they have more bytes; 0: never
}

// serviceInPath is the placeholder of the service in the path of a [Config].
const serviceInPath = "{service}"

// PathOf returns the path of the file for a service: as the configuration has it, and absolute, which is the same for all spellings.
func (l *Config) PathOf(service string) (path, place string) {
	path = strings.ReplaceAll(l.Path, serviceInPath, escapeService(service))
	place, err := filepath.Abs(path)
	if err != nil {
		place = path
	}
	return path, place
}

// maxEscaped is the longest escaped name of a service, in bytes. File systems allow 255 for a file's name. The rest is for what stands beside
// {service} in the path, and for what is added when the file is rotated and compressed.
const maxEscaped = 180

// escapeService returns a service's name escaped as one element of a path. One that gets too long ends in a hash.
func escapeService(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' && i > 0 {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02x", c)
	}
	return datafolder.ShortName(b.String(), name, maxEscaped)
}
