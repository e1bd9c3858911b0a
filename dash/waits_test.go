package dash_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// TestWaitsByKind: the overview shows what jobs spend their time on, for all workers together.
func TestWaitsByKind(t *testing.T) {
	s := memory.New()
	h := dash.New(dash.Config{Store: s})
	renew(t, s, "idle", nil)
	has(t, get(t, h, "/"), http.StatusOK, "No worker has reported what its jobs wait for")
	report := func(worker string, waits ...job.KindWaits) {
		renew(t, s, worker, func(r *job.Renewal) { r.Info.Waits = waits })
	}
	mail := func(d time.Duration, waits ...job.WaitTime) job.KindWaits {
		return job.KindWaits{Kind: "mail.send", Time: d, Waits: waits}
	}
	report("a", mail(60*time.Second, job.WaitTime{Wait: "network read, mail.go:12", Time: 30 * time.Second}, job.WaitTime{Wait: "mutex, mail.go:9", Time: 20 * time.Second}))
	report("b", mail(20*time.Second, job.WaitTime{Wait: "network read, mail.go:12", Time: 10 * time.Second}),
		job.KindWaits{Kind: evil, Time: 20 * time.Second, Waits: []job.WaitTime{{Wait: evil, Time: 20 * time.Second}}})
	h = dash.New(dash.Config{Store: s})
	w := get(t, h, "/")
	has(t, w, http.StatusOK, `/kind?name=mail.send">mail.send</a>`, ">80.0 %<", ">20.0 %<",
		`<span class="num">50 %</span> network read, mail.go:12`, `<span class="num">25 %</span> mutex, mail.go:9`, "not No worker has reported")
	checkEscaped(t, "/", w.Body.String())
}

// TestWaitsByKindAreBounded: however many kinds workers report, the page shows a few.
func TestWaitsByKindAreBounded(t *testing.T) {
	s := memory.New()
	for worker := range 10 {
		renew(t, s, fmt.Sprint(worker), func(r *job.Renewal) {
			for kind := range 10 {
				k := job.KindWaits{Kind: fmt.Sprintf("kind %d of %d", kind, worker), Time: time.Minute}
				for wait := range 10 {
					k.Waits = append(k.Waits, job.WaitTime{Wait: fmt.Sprintf("wait %d", wait), Time: 6 * time.Second})
				}
				r.Info.Waits = append(r.Info.Waits, k)
			}
		})
	}
	body := get(t, dash.New(dash.Config{Store: s}), "/").Body.String()
	if kinds, waits := strings.Count(body, ">kind "), strings.Count(body, "10 %</span> wait "); kinds != 20 || waits != 100 {
		t.Errorf("the page has %d kinds and %d waits, want 20 and 100", kinds, waits)
	}
}
