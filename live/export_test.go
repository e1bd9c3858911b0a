package live

import (
	"net/http"

	"github.com/meanwhile-go/meanwhile/inspect"
)

// HandlerOf is a Handler that shows the trees it is given.
func HandlerOf(c Config, trees func() []inspect.Node) http.Handler { return newHandler(c, trees) }

// HandlerOfLeaks is a Handler that finds the leaks it is given.
func HandlerOfLeaks(profile func() ([]inspect.Leak, error)) http.Handler {
	h := newHandler(Config{}, inspect.Trees)
	h.leaks.profile = profile
	return h
}
