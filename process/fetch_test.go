package process_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/inspect"
)

var errNotFound = errors.New("not found")

// fetch stands for a network request. A url that ends in missing fails.
func fetch(ctx context.Context, url string) (string, error) {
	if err := meanwhile.Sleep(ctx, time.Millisecond); err != nil {
		return "", fmt.Errorf("fetch %s: %w", url, err)
	}
	if strings.HasSuffix(url, "missing") {
		return "", fmt.Errorf("fetch %s: %w", url, errNotFound)
	}
	return "page " + url, nil
}

// untilWaiting returns when the tasks below ctx's task wait for the given things in order, and are not just starting.
func untilWaiting(ctx context.Context, waits ...string) {
	for i := 0; i < len(waits); {
		if inspect.Tree(ctx).Tasks[i].Wait.For == waits[i] {
			i++
		} else {
			time.Sleep(time.Millisecond)
		}
	}
}
