package docs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

// What the examples of the guides call. They stand for calls that wait: a network, a database, a disk.

var errNotFound = errors.New("not found")

// fetch waits a little. A url that ends in "missing" fails, one that ends in "slow" takes an hour.
func fetch(ctx context.Context, url string) (string, error) {
	wait := 2 * time.Millisecond
	if strings.HasSuffix(url, "slow") {
		wait = time.Hour
	}
	if err := meanwhile.Sleep(ctx, wait); err != nil {
		return "", err
	}
	if strings.HasSuffix(url, "missing") {
		return "", fmt.Errorf("fetch %s: %w", url, errNotFound)
	}
	return "page " + url, nil
}

func findUser(ctx context.Context) (string, error) {
	return "Ada", meanwhile.Sleep(ctx, 2*time.Millisecond)
}

func findOrders(ctx context.Context) (int, error) { return 3, meanwhile.Sleep(ctx, 2*time.Millisecond) }

func step(ctx context.Context) error { return meanwhile.Sleep(ctx, time.Millisecond) }
