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

// Register registers a kind of store for [Open], by the scheme of its URL. The packages of stores call it when they are imported.
func Register(scheme string, open func(ctx context.Context, url string) (Store, error)) {
	openersMu.Lock()
	defer openersMu.Unlock()
	openers[scheme] = open
}

// Open opens the store that url names, such as sqlite:jobs.db or postgres://user@host/database; a keyword string of libpq
// such as "host=db dbname=app" is opened with scheme postgres. The package of the store must be imported, for example
// with import _ "github.com/meanwhile-go/meanwhile/job/sqlite". Errors do not show passwords.
func Open(ctx context.Context, url string) (Store, error) {
	if err := CheckURL(url); err != nil {
		return nil, err
	}
	openersMu.RLock()
	open := openers[storeurl.Scheme(url)]
	openersMu.RUnlock()
	return open(ctx, url)
}

// CheckURL returns an error if [Open] knows no store for the scheme of a URL, so that a program can check it before it opens
// anything.
func CheckURL(url string) error {
	scheme := storeurl.Scheme(url)
	openersMu.RLock()
	defer openersMu.RUnlock()
	known := strings.Join(slices.Sorted(maps.Keys(openers)), ":, ") + ":"
	switch {
	case scheme == "":
		return fmt.Errorf("the URL of a store begins with its scheme: known are %s", known)
	case openers[scheme] == nil:
		return fmt.Errorf("no store is known for a URL that begins with %.20q: known are %s", scheme+":", known)
	}
	return nil
}
