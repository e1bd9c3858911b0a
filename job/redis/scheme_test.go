package redis_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/job/redis"
)

// TestSchemes tests that a password is sent without TLS only to a URL that asks for that.
func TestSchemes(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	received := make(chan string, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			first := make([]byte, 200)
			n, _ := c.Read(first)
			received <- string(first[:n])
			c.Close()
		}
	}()
	defer l.Close()
	const password = "s3cret"
	for url, want := range map[string]string{
		"redis://:s3cret@ADDRESS":                      "plain",
		"REDIS://:s3cret@ADDRESS":                      "plain",
		"Redis+Cluster://:s3cret@ADDRESS":              "plain",
		"rediss://:s3cret@ADDRESS":                     "TLS",
		"REDISS://:s3cret@ADDRESS":                     "TLS",
		"Rediss://:s3cret@ADDRESS":                     "TLS",
		"rediss://:s3cret@:PORT":                       "TLS",
		"rediss+cluster://:s3cret@ADDRESS":             "TLS",
		"rediss+sentinel://:s3cret@ADDRESS?master=m":   "TLS",
		"https://:s3cret@ADDRESS":                      `its scheme is "https"`,
		"postgres://u:s3cret@ADDRESS":                  `its scheme is "postgres"`,
		"valkeys://:s3cret@ADDRESS":                    `its scheme is "valkeys"`,
		"host=ADDRESS password=s3cret":                 `its scheme is "postgres"`,
		"ADDRESS":                                      "it has no scheme",
		"redis-sentinel://:s3cret@ADDRESS?master=m":    `its scheme is "redis-sentinel"`,
		"rediss+unix://:s3cret@/run/s3cret?durable=no": `its scheme is "rediss+unix"`,
	} {
		_, port, _ := net.SplitHostPort(l.Addr().String())
		url = strings.NewReplacer("ADDRESS", l.Addr().String(), "PORT", port).Replace(url)
		ctx, cancel := context.WithTimeout(t.Context(), callLimit)
		s, err := redis.Open(ctx, url)
		cancel()
		if s != nil {
			s.Close()
		}
		if want != "plain" && want != "TLS" {
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "rediss:") || strings.Contains(err.Error(), password) {
				t.Errorf("%s: the error is %v, want %q", url, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		all := []string{<-received}
		for len(received) > 0 {
			all = append(all, <-received)
		}
		isTLS := func(first string) bool { return strings.HasPrefix(first, "\x16\x03") }
		if plain := slices.ContainsFunc(all, func(first string) bool { return strings.Contains(first, password) }); plain != (want == "plain") || isTLS(all[0]) != (want == "TLS") {
			t.Errorf("%s: the server received %q, want %s", url, all, want)
		}
	}
}
