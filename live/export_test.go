package live

import (
	"net/http"

	"github.com/meanwhile-go/meanwhile/inspect"
)

// HandlerOf returns a Handler that shows the given trees.
func HandlerOf(c Config, trees func() []inspect.Node) http.Handler { return newHandler(c, trees) }

// HandlerOfLeaks returns a Handler that finds the given leaks.
func HandlerOfLeaks(profile func() ([]inspect.Leak, error)) http.Handler {
	h := newHandler(Config{}, inspect.Trees)
	h.leaks.profile = profile
	return h
}
