//go:build unix

package conformance

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A peer is a connection to a server.
type peer struct {
	testing.TB
	socket net.Conn
	reader *bufio.Reader
}

func dial(t testing.TB, address, who string) *peer {
	t.Helper()
	socket, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	p := &peer{t, socket, bufio.NewReader(socket)}
	var asked struct {
		I int    `json:"i"`
		S string `json:"s"`
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(p.read(), "+HI ")), &asked); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(password + asked.S))
	for range asked.I - 1 {
		sum = sha256.Sum256(sum[:])
	}
	if got := p.ask(`HELLO {"v":2,"pwdhash":"` + hex.EncodeToString(sum[:]) + `"` + who + `}`); got != "+OK" {
		t.Fatalf("HELLO: %s", got)
	}
	return p
}

// read reads an answer: a bulk as its text, a null bulk as "nil", the end of the connection as "end".
func (p *peer) read() string {
	p.Helper()
	_ = p.socket.SetReadDeadline(time.Now().Add(patience))
	line, err := p.reader.ReadString('\n')
	if err == io.EOF {
		return "end"
	}
	if err != nil {
		p.Fatal(err)
	}
	line = strings.TrimSuffix(line, "\r\n")
	if !strings.HasPrefix(line, "$") {
		return line
	}
	n, err := strconv.Atoi(line[1:])
	if err != nil || n < 0 {
		return "nil"
	}
	text := make([]byte, n+2)
	if _, err := io.ReadFull(p.reader, text); err != nil {
		p.Fatal(err)
	}
	return string(text[:n])
}

func (p *peer) ask(command string) string {
	p.Helper()
	if _, err := io.WriteString(p.socket, command+"\r\n"); err != nil {
		p.Fatal(err)
	}
	return p.read()
}

const worker = `,"wid":"worker-1","hostname":"host","pid":7,"labels":["golang"]`

// A step is a command with the expected answer. Errors are written as "-ERR …", regardless of their text, and objects have only the
// requested fields.
type step struct {
	who     byte // c is a client that only enqueues, w a worker, v another worker
	command string
	fields  []string // of the object in the answer, such as failure.message
	want    string
	differs string // the answer of our server, where docs/faktory.md documents a difference
}

var steps = []step{
	{'c', `PUSH {"jid":"job-000001","jobtype":"a","args":[1,"é\u2028"],"custom":{"x":1},"at":"","backtrace":null,"unknown":{}}`, nil, "+OK", ""},
	{'w', `FETCH default`, []string{"jid", "jobtype", "queue", "args", "custom", "retry", "failure"}, `job-000001 a default [1,"é\u2028"] {"x":1} 25 -`, ""},
	{'w', `FETCH default`, nil, "nil", ""},
	{'w', `ACK {"jid":"job-000001"}`, nil, "+OK", ""},
	{'w', `ACK {"jid":"job-000001"}`, nil, "+OK", ""},
	{'w', `ACK {"jid":"job-unknown"}`, nil, "+OK", ""},
	{'w', `FAIL {"jid":"job-unknown"}`, nil, "-ERR Job not found job-unknown", ""},
	{'w', `FAIL {}`, nil, "-ERR", ""},
	{'w', `ACK x`, nil, "-ERR", ""},
	{'w', `ACK {}`, nil, "-ERR", ""},
	{'c', `PUSH {"jid":"job-000002","jobtype":"a","args":[],"queue":"other","retry":2,"reserve_for":600}`, nil, "+OK", ""},
	{'w', `FETCH none other`, []string{"jid", "queue", "reserve_for", "retry"}, "job-000002 other 600 2", ""},
	{'w', `FAIL {"jid":"job-000002","errtype":"IOError","message":"no: way","backtrace":["a","b"]}`, nil, "+OK", ""},
	{'w', `FETCH other`, nil, "nil", ""},
	{'c', `INFO`, []string{"faktory.sets.retries", "faktory.sets.dead", "faktory.sets.working", "faktory.sets.scheduled"}, "1 0 0 0", ""},
	{'c', `MUTATE {"cmd":"requeue","target":"retries","filter":{"jids":["job-000002"]}}`, nil, "+OK", ""},
	{'w', `FETCH other`, []string{"jid", "failure.retry_count", "failure.remaining", "failure.errtype", "failure.message", "failure.backtrace"}, `job-000002 0 2 IOError no: way ["a","b"]`, ""},
	{'w', `FAIL {"jid":"job-000002","errtype":"","message":"","backtrace":null}`, nil, "+OK", ""},
	{'c', `MUTATE {"cmd":"kill","target":"retries","filter":{"jobtype":"a"}}`, nil, "+OK", ""},
	{'c', `INFO`, []string{"faktory.sets.retries", "faktory.sets.dead"}, "0 1", ""},
	{'c', `MUTATE {"cmd":"clear","target":"dead"}`, nil, "+OK", ""},
	{'c', `INFO`, []string{"faktory.sets.dead"}, "0", ""},
	{'c', `PUSH {"jid":"job-000003","jobtype":"a","args":[],"queue":"dead","retry":-1}`, nil, "+OK", ""},
	{'w', `FETCH dead`, []string{"jid", "retry"}, "job-000003 -1", ""},
	{'w', `FAIL {"jid":"job-000003","message":"x"}`, nil, "+OK", ""},
	{'c', `INFO`, []string{"faktory.sets.retries", "faktory.sets.dead"}, "0 1", ""},
	{'c', `PUSH {"jid":"job-000004","jobtype":"a","args":[],"queue":"drop","retry":0}`, nil, "+OK", ""},
	{'w', `FETCH drop`, []string{"jid", "retry"}, "job-000004 0", ""},
	{'w', `FAIL {"jid":"job-000004","message":"x"}`, nil, "+OK", ""},
	{'c', `INFO`, []string{"faktory.sets.retries", "faktory.sets.dead"}, "0 1", ""},
	{'c', `PUSH {"jid":"job-000005","jobtype":"b","args":["find me"],"at":"2035-01-01T00:00:00.123456789Z"}`, nil, "+OK", ""},
	{'c', `PUSH {"jid":"job-000006","jobtype":"b","args":[],"at":"2020-01-01T00:00:00Z","queue":"past"}`, nil, "+OK", ""},
	{'c', `INFO`, []string{"faktory.sets.scheduled"}, "1", ""},
	{'c', `MUTATE {"cmd":"discard","target":"scheduled","filter":{"regexp":"*find me*"}}`, nil, "-ERR", "+OK"},
	{'c', `INFO`, []string{"faktory.sets.scheduled"}, "1", "0"},
	{'w', `FETCH past`, []string{"jid"}, "job-000006", ""},
	{'w', `ACK {"jid":"job-000006"}`, nil, "+OK", ""},
	{'c', `PUSHB [{"jid":"bulk-0001","jobtype":"a","args":[],"queue":"q"},{"jid":"x","jobtype":"a","args":[]},{"jid":"bulk-0002","jobtype":"a","args":[],"queue":"q"}]`, []string{"bulk-0001", "bulk-0002"}, "- -", ""},
	{'c', `PUSHB []`, nil, "{}", ""},
	{'c', `PUSHB x`, nil, "-ERR", ""},
	{'c', `INFO`, []string{"faktory.queues.q"}, "2", ""},
	{'c', `QUEUE PAUSE q`, nil, "+OK", ""},
	{'w', `FETCH q`, nil, "nil", ""},
	{'c', `QUEUE RESUME q`, nil, "+OK", ""},
	{'w', `FETCH q`, []string{"jid"}, "bulk-0001", ""},
	{'w', `ACK {"jid":"bulk-0001"}`, nil, "+OK", ""},
	{'c', `QUEUE LATENCY nowhere`, []string{"nowhere"}, "0", ""},
	{'c', `QUEUE REMOVE q`, nil, "+OK", ""},
	{'w', `FETCH q`, nil, "nil", ""},
	{'c', `QUEUE`, nil, "-ERR", ""},
	{'c', `QUEUE BURN q`, nil, "-ERR", ""},
	{'w', `BEAT {"wid":"worker-1"}`, nil, "+OK", ""},
	{'w', `BEAT {"wid":"worker-1","rss_kb":1234}`, nil, "+OK", ""},
	{'c', `BEAT {"wid":"worker-2"}`, nil, "-ERR unknown worker worker-2", ""},
	{'v', `BEAT {"wid":"worker-9","current_state":"quiet"}`, []string{"state"}, "quiet", ""},
	{'v', `BEAT {"wid":"worker-9"}`, []string{"state"}, "quiet", ""},
	{'v', `BEAT {"wid":"worker-9","current_state":"terminate"}`, []string{"state"}, "terminate", ""},
	{'c', `PUSH {"jid":"short","jobtype":"a","args":[]}`, nil, "-ERR", ""},
	{'c', `PUSH {"jid":"job-000007","jobtype":"a"}`, nil, "-ERR", ""},
	{'c', `PUSH {"jid":"job-000007","jobtype":"a","args":null}`, nil, "-ERR", ""},
	{'c', `PUSH {"jid":"job-000007","jobtype":"a","args":{}}`, nil, "-ERR", ""},
	{'c', `PUSH {"jid":"job-000007","jobtype":"","args":[]}`, nil, "-ERR", ""},
	{'c', `PUSH {"jid":"job-000007","jobtype":"a","args":[],"queue":"a b"}`, nil, "-ERR", ""},
	{'c', `PUSH {"jid":"job-000007","jobtype":"a","args":[],"at":"soon"}`, nil, "-ERR", ""},
	{'c', `PUSH {"jid":"job-000007","jobtype":"a","args":[],"reserve_for":86401}`, nil, "-ERR", ""},
	{'c', `PUSH {"jid":"job-000007","jobtype":"a","args":[],"reserve_for":1,"queue":"gone"}`, nil, "+OK", ""},
	{'c', `PUSH x`, nil, "-ERR", ""},
	{'c', `PUSH`, nil, "-ERR", ""},
	{'c', `NONSENSE`, nil, "-ERR", ""},
	{'c', `push {}`, nil, "-ERR", ""},
	{'w', `FETCH`, nil, "-ERR", ""},
	{'c', `MUTATE x`, nil, "-ERR", ""},
	{'c', `MUTATE {"cmd":"burn","target":"dead"}`, nil, "-ERR", ""},
	{'c', `MUTATE {"cmd":"clear","target":"x"}`, nil, "-ERR", ""},
	{'c', `HELLO {"v":2}`, nil, "-ERR", ""},
	{'c', `BATCH NEW {}`, nil, "-ERR", ""},
	{'c', `TRACK GET job-000099`, []string{"jid", "state"}, "-ERR", "job-000099 unknown"},
	{'c', `PUSH {"jid":"job-000010","jobtype":"a","args":[],"queue":"u","custom":{"unique_for":60}}`, nil, "+OK", ""},
	{'c', `PUSH {"jid":"job-000011","jobtype":"a","args":[],"queue":"u","custom":{"unique_for":60}}`, nil, "+OK", "-NOTUNIQUE Job not unique"},
	{'c', `PUSH {"jid":"job with spaces","jobtype":"a","args":[],"queue":"u"}`, nil, "+OK", "-ERR"},
	{'c', `PUSH {"jid":"job-000012","jobtype":"a b","args":[],"queue":"u"}`, nil, "+OK", "-ERR"},
	{'c', `FLUSH`, nil, "+OK", ""},
	{'c', `INFO`, []string{"faktory.sets.dead", "faktory.sets.scheduled", "faktory.sets.retries"}, "0 0 0", ""},
	{'c', `END`, nil, "end", ""},
}

// TestWire runs one conversation with both servers. Answers of ours that differ are documented in docs/faktory.md.
func TestWire(t *testing.T) {
	for name, server := range map[string]func(testing.TB) string{"original": original, "ours": ours} {
		t.Run(name, func(t *testing.T) {
			address := server(t)
			peers := map[byte]*peer{
				'c': dial(t, address, ""), 'w': dial(t, address, worker), 'v': dial(t, address, `,"wid":"worker-9"`),
			}
			for _, s := range steps {
				want := s.want
				if name == "ours" && s.differs != "" {
					want = s.differs
				}
				got := peers[s.who].ask(s.command)
				if s.fields != nil && strings.HasPrefix(got, "{") {
					got = fieldsOf(t, got, s.fields)
				}
				if got != want && !(want == "-ERR" && strings.HasPrefix(got, "-ERR ")) {
					t.Errorf("%.120s\ngot  %.300s\nwant %s", s.command, got, want)
				}
			}
		})
	}
}

// fieldsOf returns fields of an object by their paths, separated by spaces; "-" stands for a missing field.
func fieldsOf(t testing.TB, text string, paths []string) string {
	t.Helper()
	var texts []string
	for _, path := range paths {
		value := json.RawMessage(text)
		for name := range strings.SplitSeq(path, ".") {
			var object map[string]json.RawMessage
			if json.Unmarshal(value, &object) != nil {
				value = nil
				break
			}
			value = object[name]
		}
		var plain string
		switch {
		case value == nil:
			plain = "-"
		case json.Unmarshal(value, &plain) != nil:
			plain = string(value)
		}
		texts = append(texts, plain)
	}
	return strings.Join(texts, " ")
}

// TestDelays: both servers wait for 15 to 44 seconds after the first failure.
func TestDelays(t *testing.T) {
	for name, server := range map[string]func(testing.TB) string{"original": original, "ours": ours} {
		t.Run(name, func(t *testing.T) {
			p := dial(t, server(t), worker)
			for i := range 20 {
				jid := fmt.Sprintf("job-%06d", i)
				p.ask(`PUSH {"jid":"` + jid + `","jobtype":"a","args":[]}`)
				if got := fieldsOf(t, p.ask("FETCH default"), []string{"jid"}); got != jid {
					t.Fatalf("fetched %s", got)
				}
				p.ask(`FAIL {"jid":"` + jid + `"}`)
			}
			p.ask(`MUTATE {"cmd":"requeue","target":"retries"}`)
			if got := fieldsOf(t, p.ask("INFO"), []string{"faktory.sets.retries", "faktory.queues.default"}); got != "0 20" {
				t.Errorf("retries and queued: %s", got)
			}
		})
	}
}

var version = regexp.MustCompile(`^\d+\.\d+\.\d+$`)

// TestInfoHasTheSameFields compares the fields of INFO that clients may read.
func TestInfoHasTheSameFields(t *testing.T) {
	paths := []string{
		"server.faktory_version", "server.connections", "server.command_count", "server.used_memory_mb", "server.uptime", "faktory.total_failures",
		"faktory.total_processed", "faktory.total_enqueued", "faktory.total_queues", "faktory.tasks", "now", "server_utc_time", "server.description",
	}
	for name, server := range map[string]func(testing.TB) string{"original": original, "ours": ours} {
		t.Run(name, func(t *testing.T) {
			p := dial(t, server(t), "")
			text := p.ask("INFO")
			for _, path := range paths {
				if fieldsOf(t, text, []string{path}) == "-" {
					t.Errorf("INFO has no %s", path)
				}
			}
			if v := fieldsOf(t, text, []string{"server.faktory_version"}); !version.MatchString(v) {
				t.Errorf("the version is %s", v)
			}
		})
	}
}
