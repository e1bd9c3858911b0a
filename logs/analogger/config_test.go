package analogger

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestReadConfig(t *testing.T) {
	text := `
# as people have it
port: 6767
host: 0.0.0.0
interval: 0.5
syncinterval: 30
key: thekey
default_log: "-"
daemonize: true
pidfile: /var/run/analogger.pid
levels: warn, error
logs:
- service: bridge
  logfile: /var/log/bridge
  levels: debug,info
  cull: true
- service:
  - app1
  - default
  logfile: STDERR
- service: far
  type: socket
  logfile: 10.0.0.7
  options: 514
- service: raw
  type: file
  logfile: log/raw
  options: wb+
`
	got, err := ReadConfig(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	levels := []string{"warn", "error"}
	want := &Config{
		Host: "0.0.0.0", Port: 6767, Key: "thekey", Interval: 500 * time.Millisecond, SyncInterval: 30 * time.Second,
		DefaultLog: Stdout, Levels: levels, Daemonize: true, PIDFile: "/var/run/analogger.pid",
		Logs: []Log{
			{Line: 13, Services: []string{"bridge"}, Logfile: "/var/log/bridge", Levels: []string{"debug", "info"}, Cull: true},
			{Line: 17, Services: []string{"app1", "default"}, Logfile: Stderr, Levels: levels},
			{Line: 21, Services: []string{"far"}, Socket: true, Logfile: "10.0.0.7", Port: 514, Levels: levels},
			{Line: 25, Services: []string{"raw"}, Logfile: "log/raw", Mode: "wb+", Levels: levels},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

func TestReadConfigDefaults(t *testing.T) {
	want := &Config{
		Host: "127.0.0.1", Port: 6766, Interval: time.Second, SyncInterval: time.Minute, DefaultLog: Stdout,
		Levels: []string{"debug", "info", "warn", "error", "fatal"},
	}
	for _, text := range []string{"", "---\n", "key:\nlogs:\n"} {
		if got, err := ReadConfig(strings.NewReader(text)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, %v", text, got, err)
		}
	}
}

func TestReadConfigTellsAllThatIsWrong(t *testing.T) {
	text := `port: http
hosts: x
interval: -1
daemonize: perhaps
levels: ","
port: 1
logs:
- service: a
  logfile: x
  colour: red
- logfile: x
- service: b
- service: [c, a]
  logfile: [x]
- service: d
  logfile: x
  type: pigeon
- service: e
  logfile: host
  type: socket
  options: ab+
- 7
`
	_, err := ReadConfig(strings.NewReader(text))
	want := `line 1: port: a port is a number from 1 to 65535, not "http"
line 3: interval: it is a number of seconds, more than 0 and at most 86400, not "-1"
line 4: daemonize: it is true or false, not "perhaps"
line 5: levels: give words with commas between them
line 6: port is set twice
line 11: a log without service
line 12: a log without logfile
line 14: logfile: give one value
line 13: service "a" has a log in line 8 already
line 15: the type of a log is file or socket, not "pigeon"
line 18: the options of a socket are its port, not "ab+"
line 22: write settings as KEY: VALUE`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	for text, want := range map[string]string{
		"port: [":                              "line 1: did not find expected node content",
		"just text":                            "line 1: write settings as KEY: VALUE",
		"logs: 7":                              "line 1: logs is a list, each with a service and a logfile",
		"key: " + strings.Repeat("x", 1<<20):   "the configuration has more than 1048576 bytes",
		"a: &a [x]\nb: &b [*a,*a]\nhost: *b\n": "line 3: host: give one value",
	} {
		if _, err := ReadConfig(strings.NewReader(text)); err == nil || err.Error() != want {
			t.Errorf("%.20q: got %v, want %s", text, err, want)
		}
	}
}

// TestReadConfigOfTheOriginal: settings that Analogger accepts are accepted, such as options as a list, no syncs, and unknown keys.
func TestReadConfigOfTheOriginal(t *testing.T) {
	text := `port: "6766"
host: 127.0.0.1
syncinterval: 0
color: red
logs:
- service: a
  logfile: log/a
  type: file
  options: [ab+, 0640]
- service: b
  logfile: 127.0.0.1
  type: socket
  options:
  - 6789
  extra: {x: y}
`
	c, err := ReadConfig(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if c.SyncInterval != 0 || len(c.Logs) != 2 || c.Logs[0].Mode != "ab+" || c.Logs[1].Port != 6789 {
		t.Errorf("got %+v", c)
	}
	want := []string{`line 4: unknown key "color"`, "line 6: all options but the first", `line 15: unknown key "extra"`}
	if !slices.Equal(c.Ignored, want) {
		t.Errorf("ignored %q, want %q", c.Ignored, want)
	}
}

func FuzzReadConfig(f *testing.F) {
	f.Add("port: 1\nlogs:\n- service: [a, b]\n  logfile: x\n")
	f.Add("a: &a [*a]\nhost: *a\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ReadConfig(strings.NewReader(text))
		if (c == nil) == (err == nil) {
			t.Errorf("got %v and %v", c, err)
		}
	})
}
