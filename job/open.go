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
	openers   = map[string]opener{}
)

// An opener checks and opens the URLs of a scheme.
type opener struct {
	check func(url string) error
	open  func(ctx context.Context, url string) (Store, error)
}

// Register registers a kind of store for [Open], by the scheme of its URL. The packages of stores call it when they are imported.
// For [CheckURL], check validates a URL without opening anything; nil accepts every URL. Neither may show a password in its errors.
func Register(scheme string, check func(url string) error, open func(ctx context.Context, url string) (Store, error)) {
	openersMu.Lock()
	defer openersMu.Unlock()
	openers[scheme] = opener{check, open}
}

// Open opens the store that url names, such as sqlite:jobs.db or postgres://user@host/database; a keyword string of libpq
// such as "host=db dbname=app" is opened with scheme postgres. The package of the store must be imported, for example
// with import _ "github.com/meanwhile-go/meanwhile/job/sqlite". Errors do not show passwords.
func Open(ctx context.Context, url string) (Store, error) {
	o, err := openerOf(url)
	if err != nil {
		return nil, err
	}
	return o.open(ctx, url)
}

// CheckURL returns an error if [Open] knows no store for the scheme of a URL, or the store refuses the URL, so that a program can
// check it before it opens anything. Errors do not show passwords.
func CheckURL(url string) error {
	o, err := openerOf(url)
	if err != nil || o.check == nil {
		return err
	}
	return o.check(url)
}

// openerOf returns what is registered for the scheme of a URL.
func openerOf(url string) (opener, error) {
	scheme := storeurl.Scheme(url)
	openersMu.RLock()
	defer openersMu.RUnlock()
	known := strings.Join(slices.Sorted(maps.Keys(openers)), ":, ") + ":"
	switch {
	case scheme == "":
		return opener{}, fmt.Errorf("the URL of a store begins with its scheme: known are %s", known)
	case openers[scheme].open == nil:
		return opener{}, fmt.Errorf("no store is known for a URL that begins with %.20q: known are %s", scheme+":", known)
	}
	return openers[scheme], nil
}
