package serve

import (
	"log/slog"
	"strings"

	"github.com/meanwhile-go/meanwhile/internal/loglimit"
)

// An errorLog logs messages of net/http, one line each. Messages that clients can cause, such as failed TLS handshakes, are rate limited; panics in
// our code are not.
type errorLog struct {
	logger *slog.Logger
	limit  loglimit.Limit
}

func (l *errorLog) Write(line []byte) (int, error) {
	message := strings.TrimSuffix(string(line), "\n")
	if strings.Contains(message, "panic serving") {
		l.logger.Warn(message)
	} else {
		l.limit.Warn(l.logger, message)
	}
	return len(line), nil
}
