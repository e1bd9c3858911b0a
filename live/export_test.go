package live

import (
	"net/http"

	"github.com/meanwhile-go/meanwhile"
)

// HandlerOf is a Handler that shows the trees it is given.
func HandlerOf(c Config, trees func() []meanwhile.Node) http.Handler { return newHandler(c, trees) }
