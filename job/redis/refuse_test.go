package redis_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/redis"
)

// TestRefused tests that a store is not opened on servers that would lose jobs, or where its keys belong to another program.
func TestRefused(t *testing.T) {
	s := ownServer(t)
	open := func(query string) error {
		store, err := redis.Open(t.Context(), "redis://"+s.address()+"?"+query)
		if err == nil {
			err = store.Ping(t.Context())
			store.Close()
		}
		return err
	}
	for _, test := range []struct {
		name     string
		do, undo []string
		query    string
		want     string // "" where it opens
	}{
		{"as it should be", []string{"PING"}, []string{"PING"}, "name=a", ""},
		{"no AOF", []string{"CONFIG", "SET", "appendonly", "no"}, []string{"CONFIG", "SET", "appendonly", "yes"}, "name=a", "set appendonly yes, or give ?durable=no"},
		{"no AOF, as wished", []string{"CONFIG", "SET", "appendonly", "no"}, []string{"CONFIG", "SET", "appendonly", "yes"}, "name=a&durable=no", ""},
		{"eviction", []string{"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"}, []string{"CONFIG", "SET", "maxmemory-policy", "noeviction"}, "name=a&durable=no", "set maxmemory-policy noeviction, it is allkeys-lru"},
		{"a replica", []string{"REPLICAOF", "127.0.0.1", "1"}, []string{"REPLICAOF", "NO", "ONE"}, "name=a", "a replica of 127.0.0.1:1"},
		{"a key of somebody", []string{"SET", "{b}:x", "1"}, []string{"DEL", "{b}:x"}, "name=b", `a key "{b}:x" that is not of this store: give the store another name`},
		{"a meta of somebody", []string{"SET", "{b}:meta", "1"}, []string{"DEL", "{b}:meta"}, "name=b", `a key "{b}:meta" that is not of this store`},
		{"another meta", []string{"HSET", "{b}:meta", "a", "1"}, []string{"DEL", "{b}:meta"}, "name=b", `a key "{b}:meta" that is not of this store`},
		{"a newer schema", []string{"HSET", "{b}:meta", "store", "meanwhile jobs", "schema", "9"}, []string{"DEL", "{b}:meta"}, "name=b", `its keys are of schema "9", this program reads 3: update the program`},
		{"a schema of before the first release", []string{"HSET", "{b}:meta", "store", "meanwhile jobs", "schema", "2 to 3"}, []string{"DEL", "{b}:meta"}, "name=b", `its keys are of schema "2 to 3", from before the first release, this program reads 3: give the store another name`},
		{"at last", []string{"PING"}, []string{"PING"}, "name=b", ""},
	} {
		s.do(t, test.do...)
		err := open(test.query)
		s.do(t, test.undo...)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: the error is %v, want %q", test.name, err, test.want)
		}
		if strings.Contains(test.name, "schema") && !errors.Is(err, job.ErrSchema) {
			t.Errorf("%v is not ErrSchema", err)
		}
	}
}

// TestWarning tests the warning in the health of a worker.
func TestWarning(t *testing.T) {
	address := sharedServer(t)
	for query, want := range map[string]string{"": "", "&durable=yes": "", "&durable=no": "the store is Redis with durable=no: a restart of the server may lose jobs"} {
		w := job.NewWorker(open(t, "redis://"+address+"?name="+rand.Text()+query), job.Config{Queues: []job.QueueConfig{{Name: "q"}}})
		if got := w.Health().Warning; got != want {
			t.Errorf("%q: the warning is %q, want %q", query, got, want)
		}
		joined := job.Join(open(t, "redis://"+address+"?name="+rand.Text()), open(t, "redis://"+address+"?name="+rand.Text()+query))
		w = job.NewWorker(joined, job.Config{Queues: []job.QueueConfig{{Name: "q"}}})
		if got := w.Health().Warning; (got == "") != (want == "") || !strings.HasSuffix(got, want) || want != "" && !strings.HasPrefix(got, "store 2 of 2") {
			t.Errorf("%q joined with another store: the warning is %q, want %q of the second", query, got, want)
		}
	}
}

// TestWarningOfAChangedServer changes settings of a server while a program runs: Prune, which workers call each minute, notices it.
func TestWarningOfAChangedServer(t *testing.T) {
	server := ownServer(t)
	s := open(t, "redis://"+server.address())
	lossy := open(t, "redis://"+server.address()+"?name=lossy&durable=no")
	prune := func() {
		t.Helper()
		for _, s := range []*redis.Store{s, lossy} {
			if _, err := s.Prune(t.Context(), nil, 10); err != nil {
				t.Error(err)
			}
		}
	}
	for _, test := range []struct {
		setting, value string
		want, ofLossy  string
	}{
		{"maxmemory-policy", "allkeys-lru", "set maxmemory-policy noeviction, it is allkeys-lru", "set maxmemory-policy noeviction, it is allkeys-lru"},
		{"maxmemory-policy", "noeviction", "", "the store is Redis with durable=no: a restart of the server may lose jobs"},
		{"appendonly", "no", "set appendonly yes", "the store is Redis with durable=no: a restart of the server may lose jobs"},
		{"appendonly", "yes", "", "the store is Redis with durable=no: a restart of the server may lose jobs"},
	} {
		server.do(t, "CONFIG", "SET", test.setting, test.value)
		prune()
		if got := s.Warning(); !strings.Contains(got, test.want) || test.want == "" && got != "" {
			t.Errorf("%s %s: the warning is %q, want %q", test.setting, test.value, got, test.want)
		}
		if got := lossy.Warning(); !strings.Contains(got, test.ofLossy) {
			t.Errorf("%s %s: with durable=no, the warning is %q, want %q", test.setting, test.value, got, test.ofLossy)
		}
	}
	insert(t, s, newJob(t, "k")) // it still works
}

func TestVersions(t *testing.T) {
	for version, ok := range map[string]bool{"5.0.14": false, "6.0.20": false, "6.2.0": true, "7.0.15": true, "8.2.1": true, "10.0.0": true, "": false} {
		err := redis.CheckInfo("redis_version:" + version + "\r\nrole:master\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\n")
		if (err == nil) != ok {
			t.Errorf("%s: %v", version, err)
		}
		if err != nil && !strings.Contains(err.Error(), "update it to 6.2") {
			t.Errorf("%s: %v", version, err)
		}
	}
}

// TestURLs tests which URLs are accepted, and that no error shows a password.
func TestURLs(t *testing.T) {
	s := ownServer(t, "--requirepass", "s3cret:@/?#")
	const escaped = "s3cret%3A%40%2F%3F%23"
	for url, want := range map[string]string{
		"redis://:" + escaped + "@" + s.address():                             "",
		"redis://default:" + escaped + "@" + s.address() + "/3":               "",
		"unix://:" + escaped + "@" + s.folder + "/socket?db=2&name=x":         "",
		"redis://:s3cret@" + s.address():                                      "WRONGPASS",
		"redis://" + s.address():                                              "NOAUTH",
		"redis://:s3cret@127.0.0.1:1":                                         "connection refused",
		"redis://:s3cret@" + s.address() + "/x":                               "not the number of a database",
		"redis://:s3cret@" + s.address() + "?nam=x":                           "an unknown parameter: known are name",
		"redis://:s3cret@" + s.address() + "?name=" + strings.Repeat("x", 65): "its name is not 1 to 64 letters",
		"redis://:s3cret@" + s.address() + "?name={x}":                        "its name is not 1 to 64 letters",
		"redis://:s3cret@" + s.address() + "?durable=maybe":                   "neither yes nor no",
		"redis://:s3cret@a,b":                                                 "several hosts",
		"redis+sentinel://:s3cret@" + s.address():                             "master=NAME",
		"redis+cluster://:s3cret@" + s.address() + "/1":                       "only the database 0",
		"unix://:s3cret@":                                                     "names no socket",
		"redis://:s3c%ret@" + s.address():                                     "hexadecimal",
		"redis://:s3cret@" + s.address() + "?db=1":                            "db is for unix",
		"redis://:s3cret@" + s.address() + "/0?name=a&name=" + "%00" + "b":    "its name is not",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), callLimit)
		store, err := redis.Open(ctx, url)
		if opens := want == "" || want == "connection refused"; opens != (err == nil) {
			t.Errorf("%s: opening it returns %v", url, err)
		}
		if err == nil {
			err = store.Ping(ctx)
			store.Close()
		}
		cancel()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: the error is %v, want %q", url, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "s3c") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}
