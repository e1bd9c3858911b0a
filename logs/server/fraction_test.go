package server_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/server"
)

// Times of lines have the fraction that their route asks for, and none where it asks for none. Repeats differ in their times alone.
func TestFractionsOfSeconds(t *testing.T) {
	at := time.Date(2026, 5, 4, 3, 2, 1, 123_456_789, time.Local)
	for fraction, want := range map[int]string{
		0: "2026/05/04 03:02:01|", 3: "2026/05/04 03:02:01.123|", 6: "2026/05/04 03:02:01.123456|", 9: "2026/05/04 03:02:01.123456789|",
	} {
		for _, dedupe := range []bool{false, true} {
			path := filepath.Join(t.TempDir(), "all.log")
			route := toFile(path)[0]
			route.Fraction, route.Dedupe = fraction, dedupe
			serve(t, server.Config{Routes: []server.Route{route}, Interval: time.Hour}, func(ctx context.Context, s *server.Server) {
				f := s.Batcher("test")
				for _, message := range []string{"one", "same", "same", "same", "two"} {
					f.Add(&logs.View{Service: []byte("api"), Message: []byte(message), Time: at.UnixNano()})
				}
				f.Add(&logs.View{Service: []byte("api"), Message: []byte("two"), Time: at.Add(10 * time.Second).UnixNano()})
				if err := f.Sync(ctx); err != nil {
					t.Fatal(err)
				}
			})
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			later := strings.Replace(want, ":01", ":11", 1)
			all := want + "api|info|one\n" + want + "api|info|same\n" + want + "api|info|same\n" + want + "api|info|same\n" + want + "api|info|two\n" + later + "api|info|two\n"
			if dedupe {
				all = want + "api|info|one\n" + want + "api|info|same\n" + want + "api|info|Last message repeated 2 times\n" + want + "api|info|two\n"
			}
			if got := string(text); got != all && !(dedupe && sameButTime(got, all, len(want))) {
				t.Errorf("%d digits, deduplicated %v: got\n%swant\n%s", fraction, dedupe, got, all)
			}
		}
	}
}

// sameButTime reports whether got is want and one more line, that of the end, of whose time only the width matters.
func sameButTime(got, want string, width int) bool {
	last, ok := strings.CutPrefix(got, want)
	return ok && len(last) > width && last[width-1:] == "|api|info|Last message repeated 1 times\n"
}

func TestFractionCheck(t *testing.T) {
	for want, route := range map[string]server.Route{
		"a fraction of a second with 2 digits: give 0, 3, 6 or 9": {Fraction: 2, To: toFile("x")[0].To},
		"raw lines are those of Analogger":                        {Fraction: 3, Raw: true, To: toFile("x")[0].To},
	} {
		if _, err := server.New(server.Config{Routes: []server.Route{route}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
