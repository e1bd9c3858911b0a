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

// fetch stands for what waits for a network. A url that ends in missing fails.
func fetch(ctx context.Context, url string) (string, error) {
	if err := meanwhile.Sleep(ctx, time.Millisecond); err != nil {
		return "", fmt.Errorf("fetch %s: %w", url, err)
	}
	if strings.HasSuffix(url, "missing") {
		return "", fmt.Errorf("fetch %s: %w", url, errNotFound)
	}
	return "page " + url, nil
}

// untilWaiting returns once the tasks below ctx's wait for what is given, and do not merely start.
func untilWaiting(ctx context.Context, waits ...string) {
	for i := 0; i < len(waits); {
		if inspect.Tree(ctx).Tasks[i].Wait.For == waits[i] {
			i++
		} else {
			time.Sleep(time.Millisecond)
		}
	}
}
