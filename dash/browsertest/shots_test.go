package browsertest

import (
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/meanwhile-go/meanwhile/dash"
)

var shots = flag.String("shots", "", "have TestShots take a picture of each page, in each state and width and both colours, into this `folder`")

// widths are those of a phone, a small and a common laptop, and a large screen, with their heights.
var widths = [][2]int64{{390, 844}, {1024, 768}, {1440, 900}, {2560, 1440}}

// TestShots takes pictures to be looked at.
func TestShots(t *testing.T) {
	if *shots == "" {
		t.Skip("-shots FOLDER takes a picture of each page in each state")
	}
	play(t, func(t *testing.T, s *stage) {
		if s.store != "sqlite" {
			return
		}
		for _, size := range widths {
			for _, colours := range []string{"light", "dark"} {
				for _, state := range s.states() {
					t.Run(fmt.Sprintf("%d-%s-%s", size[0], colours, state.name), func(t *testing.T) {
						s.at(state.serve(t)).tab(t, Look(size[0], size[1], colours, true)).shootAll(state.paths, state.name+"%s"+fmt.Sprintf("-%d-%s", size[0], colours))
					})
				}
				t.Run(fmt.Sprintf("%d-%s-disconnected", size[0], colours), func(t *testing.T) {
					server := httptest.NewServer(dash.New(dash.Config{Store: s.Store, Logs: s.logs, Title: "shop"}))
					b := s.at(server.URL).tab(t, Look(size[0], size[1], colours, true))
					b.wrong = true
					b.open("/queues")
					server.CloseClientConnections()
					server.Close()
					b.run(Until(`document.querySelector("#live.is-lost")`))
					b.shoot(fmt.Sprintf("disconnected-%d-%s", size[0], colours))
				})
			}
		}
	})
}

// shotName is a path as a part of the name of a file.
func shotName(path string, s *stage) string {
	path = strings.NewReplacer(s.Import.String(), "running", s.Failed.String(), "failed", longName, "long").Replace(path)
	return strings.NewReplacer("/", "-", "?", "-", "=", "-", "&", "-", "%3D", "-").Replace(path)
}

// shootAll takes a picture of each path, once its page is live.
func (b *tab) shootAll(paths []string, name string) {
	b.Helper()
	b.wrong = true
	for _, path := range paths {
		b.run(chromedp.Navigate(b.url+path), Until(`document.readyState === "complete" && (!document.querySelector("#live") || document.querySelector("#live.is-live"))`))
		if path == "/jobs/"+b.Import.String() {
			b.run(Until(`document.querySelectorAll(".task").length > 8`))
		}
		b.shoot(fmt.Sprintf(name, shotName(path, b.stage)))
	}
}

func (b *tab) shoot(name string) {
	b.Helper()
	drawn, err := Shot(b.ctx, true)
	if err == nil {
		err = os.WriteFile(filepath.Join(*shots, name+".png"), drawn, 0o644)
	}
	if err != nil {
		b.Fatal(err)
	}
}
