package faktory_test

import (
	"crypto/tls"
	"io"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job/faktory"
)

// TestAClientThatEndsWhileItWaits: a job that arrives after the connection of a waiting client was closed goes to another client immediately, with
// all its attempts.
func TestAClientThatEndsWhileItWaits(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there, only the next write shows that a connection was closed")
	}
	t.Parallel()
	overEachStore(t, func(r *rig) {
		ended, other := r.worker("ended"), r.worker("other")
		ended.send("FETCH default\n")
		time.Sleep(100 * time.Millisecond) // until it waits
		ended.socket.Close()
		time.Sleep(100 * time.Millisecond) // until that has arrived
		other.want(`PUSH {"jid":"job-000001","jobtype":"a","args":[],"retry":0}`, "+OK")
		if got := other.fetch("default"); got == nil {
			r.Error("the job is leased to a client that has disconnected")
		}
	})
}

// TestAClientThatEndsItsTLSConnectionWhileItWaits: the same with TLS, in which the end of a connection is a message. A client that has sent its next command
// instead gets the job.
func TestAClientThatEndsItsTLSConnectionWhileItWaits(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there, only the next write shows that a connection was closed")
	}
	t.Parallel()
	web := httptest.NewTLSServer(nil)
	web.Close()
	r := newRig(t, faktory.Config{TLS: &tls.Config{Certificates: web.TLS.Certificates, MinVersion: tls.VersionTLS12}})
	worker := func(wid string) *peer {
		t.Helper()
		socket, err := tls.Dial("tcp", r.address, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		p := newPeer(t, socket)
		if _, err := p.read(); err != nil {
			t.Fatal(err)
		}
		p.want(`HELLO {"v":2,"wid":"`+wid+`"}`, "+OK")
		return p
	}
	push := func(p *peer, jid string) {
		t.Helper()
		time.Sleep(100 * time.Millisecond) // until the others wait, and what they sent has arrived
		p.want(`PUSH {"jid":"`+jid+`","jobtype":"a","args":[],"retry":0}`, "+OK")
	}
	ended, other := worker("ended"), worker("other")
	ended.send("FETCH default\n")
	time.Sleep(100 * time.Millisecond)
	ended.socket.Close()
	push(other, "job-000001")
	if got := other.fetch("default"); got == nil {
		t.Error("the job is leased to a client that has disconnected")
	}

	eager := worker("eager")
	_, _ = io.WriteString(eager.socket, "FETCH default\n")
	time.Sleep(100 * time.Millisecond)
	_, _ = io.WriteString(eager.socket, "BEAT {\"wid\":\"eager\"}\n")
	push(other, "job-000002")
	for _, want := range []string{`{"jid":"job-000002"`, "+OK"} {
		if got, err := eager.read(); err != nil || len(got) < len(want) || got[:len(want)] != want {
			t.Errorf("the eager client got %q, %v, want %s", got, err, want)
		}
	}
}
