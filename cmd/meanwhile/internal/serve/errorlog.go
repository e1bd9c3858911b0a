package serve

import (
	"log/slog"
	"strings"

	"github.com/meanwhile-go/meanwhile/internal/loglimit"
)

// An errorLog logs what net/http has to say, a line each time. What clients can cause, such as failed TLS handshakes, is limited; panics of ours are not.
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
