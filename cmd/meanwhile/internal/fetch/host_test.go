package fetch

import (
	"context"
	"fmt"
	"net/url"
	"testing"
	"testing/synctest"
	"time"
)

func transferTo(host string) *transfer {
	return &transfer{url: &url.URL{Scheme: "http", Host: host}}
}

func TestHostsPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHosts(1, rate{})
		first, _ := h.enter(t.Context(), transferTo("a"))
		if _, err := h.enter(t.Context(), transferTo("b")); err != nil {
			t.Errorf("b waits for a: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := h.enter(ctx, transferTo("A:80")); err == nil {
			t.Error("got two slots of a host with one")
		}
		h.leave(first)
		if len(h.hosts) != 1 {
			t.Errorf("%d hosts known, want b alone", len(h.hosts))
		}
	})
}

func TestHostsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHosts(0, rate{1, time.Second})
		begun := time.Now()
		for range 5 {
			for _, name := range []string{"a", "b"} {
				got, err := h.enter(t.Context(), transferTo(name))
				if err != nil {
					t.Fatal(err)
				}
				h.leave(got)
			}
		}
		if got, want := time.Since(begun), 4*time.Second; got != want {
			t.Errorf("5 transfers from each of two hosts at 1/s took %v, want %v", got, want)
		}
		time.Sleep(time.Second)
		got, _ := h.enter(t.Context(), transferTo("c"))
		h.leave(got)
		if len(h.hosts) != 1 {
			t.Errorf("%d hosts known after their rate is over, want 1", len(h.hosts))
		}
	})
}

func TestHostsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHosts(1, rate{1, time.Hour})
		for i := range 3 * maxIdle {
			got, err := h.enter(t.Context(), transferTo(fmt.Sprintf("host%d", i)))
			if err != nil {
				t.Fatal(err)
			}
			h.leave(got)
		}
		if len(h.hosts) != maxIdle || h.idle.Len() != maxIdle {
			t.Errorf("%d hosts known, %d idle; want %d", len(h.hosts), h.idle.Len(), maxIdle)
		}
	})
}
