package redis_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/job/redis"
)

// TestSentinelPassword tests that Sentinels and the primary can have different passwords, that each gets only its own, and that errors show none.
func TestSentinelPassword(t *testing.T) {
	primary := ownServer(t, "--requirepass", "pr1mary")
	sentinel := startSentinel(t, "requirepass s3ntinel+/?&", "user app on >4pp allcommands allkeys allchannels",
		"sentinel monitor main 127.0.0.1 "+strconv.Itoa(primary.port)+" 1", "sentinel auth-pass main pr1mary")
	url := "redis+sentinel://:pr1mary@" + sentinel.address() + "?master=main"
	for query, want := range map[string]string{
		"&sentinel_password=s3ntinel+/%3F%26":          "",
		"&sentinel_username=app&sentinel_password=4pp": "",
		"":                                 "sentinel_password=",
		"&sentinel_password=wr0ng":         "sentinel_password=",
		"&sentinel_username=app":           "sentinel_username is given without sentinel_password",
		"&sentinel_password=wr0ng&pr1=4pp": "unknown parameter",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), callLimit)
		s, err := redis.Open(ctx, url+query)
		if err == nil {
			_, err = s.Insert(ctx, newJob(t, "k"))
			s.Close()
		}
		cancel()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: the error is %v, want %q", query, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), "pr1") || strings.Contains(err.Error(), "4pp") || strings.Contains(err.Error(), "wr0ng")) {
			t.Errorf("the error shows a password: %v", err)
		}
	}
	other := "redis://:pr1mary@" + primary.address() + "?sentinel_password=s3ntinel"
	if _, err := redis.Open(t.Context(), other); err == nil || !strings.Contains(err.Error(), "for redis+sentinel: alone") {
		t.Errorf("a password of Sentinels without them: %v", err)
	}
}
