package linefile

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// Sync is when the contents of line files are on disk. What came by the own protocol is so in the [server.Config.Journal], if there is
// one, and in the file after the next interval.
type Sync string

// The ways to sync. What was written survives the end of the process in each of them.
const (
	SyncAlways   Sync = "always"   // before it is acknowledged, and each interval
	SyncInterval Sync = "interval" // each interval: a power cut loses what came since
	SyncOS       Sync = "os"       // when the system likes
)

// A Config describes a file that records are written to, one line each.
type Config struct {
	Path     string        // {service} in it stands for the name of the service, escaped, so that it is no path
	Mode     uint32        // of a new file; default 0640
	MaxBytes int64         // begin a new file before it would grow beyond; 0: never
	Daily    bool          // begin a new file each day
	Compress bool          // those before with zstd
	MaxAge   time.Duration // delete those before when they are so old; 0: never
	MaxTotal int64         // and the oldest ones when all of the file have more bytes; 0: never
}

// serviceInPath is where the name of the service stands in the path of a [Config].
const serviceInPath = "{service}"

// PathOf returns the path of the file for a service, as it is written and as it is known: absolute, and so the same for all that
// mean one file.
func (l *Config) PathOf(service string) (path, place string) {
	path = strings.ReplaceAll(l.Path, serviceInPath, escapeService(service))
	place, err := filepath.Abs(path)
	if err != nil {
		place = path
	}
	return path, place
}

// escapeService returns a service's name as a part of a path that is no path itself.
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
	return b.String()
}
