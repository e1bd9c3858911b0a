package job

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/meanwhile-go/meanwhile/internal/storeurl"
)

var (
	openersMu sync.RWMutex
	openers   = map[string]func(ctx context.Context, url string) (Store, error){}
)

// Register makes a kind of store known to [Open] by the scheme of its URL. Stores do so when they are imported.
func Register(scheme string, open func(ctx context.Context, url string) (Store, error)) {
	openersMu.Lock()
	defer openersMu.Unlock()
	openers[scheme] = open
}

// Open opens the store that url names, such as sqlite:jobs.db or postgres://user@host/database; a keyword string of libpq
// such as "host=db dbname=app" names one of scheme postgres. The package of the store must be imported, for example by
// import _ "github.com/meanwhile-go/meanwhile/job/sqlite". Errors do not show passwords.
func Open(ctx context.Context, url string) (Store, error) {
	scheme := storeurl.Scheme(url)
	openersMu.RLock()
	open := openers[scheme]
	known := slices.Sorted(maps.Keys(openers))
	openersMu.RUnlock()
	switch {
	case scheme == "":
		return nil, fmt.Errorf("the URL of a store begins with its scheme: known are %s", strings.Join(known, ":, ")+":")
	case open == nil:
		return nil, fmt.Errorf("no store is known for a URL that begins with %.20q: known are %s", scheme+":", strings.Join(known, ":, ")+":")
	}
	return open(ctx, url)
}
