package live

import (
	"errors"
	"net/http"

	"github.com/meanwhile-go/meanwhile/internal/loopback"
)

const remoteRemedy = ": set Remote in live.Config to answer it"

// checkLocal refuses a request unless a program on this machine sent it on its own behalf.
func checkLocal(r *http.Request) error {
	err := loopback.Check(r)
	if err == nil {
		return nil
	}
	text := "this program shows its tasks to its own machine only, and the request comes from another"
	if errors.Is(err, loopback.ErrHost) {
		text = "this program shows its tasks under the name localhost or a loopback address only, and the request asks for another"
	}
	if proxy, ok := errors.AsType[*loopback.ProxyError](err); ok {
		text = "this program shows its tasks to its own machine only, and the header " + proxy.Header +
			" tells of a proxy that may speak for another"
	}
	return refuse(http.StatusForbidden, text+remoteRemedy)
}
