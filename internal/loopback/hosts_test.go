package loopback_test

import (
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/loopback"
)

func TestHosts(t *testing.T) {
	some, err := loopback.NewHosts([]string{"Jobs.example.", "192.0.2.1", "[2001:db8::1]"})
	if err != nil {
		t.Fatal(err)
	}
	all, err := loopback.NewHosts([]string{"0.0.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		host            string
		none, some, all bool
	}{
		{"localhost:7", true, true, true},
		{"127.9.9.9", true, true, true},
		{"[::1]:7", true, true, true},
		{"jobs.example:7", false, true, false},
		{"JOBS.example.", false, true, false},
		{"jobs.example.evil", false, false, false},
		{"192.0.2.1:7", false, true, true},
		{"192.0.2.2:7", false, false, true},
		{"[2001:db8:0::1]:7", false, true, true},
		{"", false, false, false},
		{":7", false, false, false},
		{"localhost:evil", false, false, false},
		{"localhost@evil", false, false, false},
	} {
		if none, some, all := (*loopback.Hosts)(nil).Has(test.host), some.Has(test.host), all.Has(test.host); none != test.none || some != test.some || all != test.all {
			t.Errorf("%q: got %t, %t, %t; want %t, %t, %t", test.host, none, some, all, test.none, test.some, test.all)
		}
	}
	for _, name := range []string{"", "a:7", "http://a", "a b", "*", "me@a"} {
		if _, err := loopback.NewHosts([]string{name}); err == nil {
			t.Errorf("%q is accepted as a host", name)
		}
	}
}
