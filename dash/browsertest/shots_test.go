package browsertest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

var (
	shots   = flag.String("shots", "", "have TestShots take a picture of each page, in each state and width and both colours, into this `folder`")
	shotsOf = flag.String("shots-of", "", "take only those whose names match this `pattern`, such as ^failing-.*-1024-")
)

// widths are the widths of a phone, a small and a common laptop, and a large screen, with their heights.
var widths = [][2]int64{{390, 844}, {1024, 768}, {1440, 900}, {2560, 1440}}

// TestShots takes screenshots for manual inspection: STATE-PAGE-WIDTH-COLOURS.png.
func TestShots(t *testing.T) {
	if *shots == "" {
		t.Skip("-shots FOLDER takes a picture of each page in each state")
	}
	only := regexp.MustCompile(*shotsOf)
	play(t, func(t *testing.T, s *stage) {
		if s.store != "sqlite" {
			return
		}
		states := s.states(t)
		for _, size := range widths {
			for _, colours := range []string{"light", "dark"} {
				for _, state := range states {
					server := state.serve(t)
					b := s.at(server.URL).tab(t, Look(size[0], size[1], colours, true))
					b.wrong = true
					for _, path := range state.paths {
						name := fmt.Sprintf("%s%s-%d-%s", state.name, s.shotName(path), size[0], colours)
						if !only.MatchString(name) {
							continue
						}
						b.load(path)
						if state.away != nil {
							b.lose(state, server)
							b.run(Until(`!document.querySelector("#trouble").hidden`))
						}
						b.shoot(name)
						if state.away != nil {
							state.away(server, false)
						}
					}
				}
				b := s.tab(t, Look(size[0], size[1], colours, true))
				for _, d := range s.dialogs() {
					if name := fmt.Sprintf("%s-%d-%s", d.name, size[0], colours); only.MatchString(name) {
						b.open(d.path)
						b.run(d.open...)
						b.shoot(name)
					}
				}
			}
		}
	})
}

// A dialog is a dialog that opens on a page.
type dialog struct {
	name, path string
	open       []Action
}

func (s *stage) dialogs() []dialog {
	click := func(element string) Action { return Do(fmt.Sprintf("document.querySelector(%q).click()", element)) }
	asked := Until(`document.querySelector("#ask").open`)
	return []dialog{
		{"dialog-palette", "/queues", []Action{chromedp.KeyEvent("k", chromedp.KeyModifiers(chromedp.ModifierCtrl)), Until(`document.querySelectorAll("#palette-list li").length > 8`)}},
		{"dialog-keys", "/jobs", []Action{click("#help")}},
		{"dialog-selected", "/jobs", []Action{click(`tbody input[name="id"]`), click("#actions summary")}},
		{"dialog-all", "/jobs", []Action{click(".everyone summary")}},
		{"dialog-fields", "/jobs", []Action{click(".more summary")}},
		{"dialog-retry", "/jobs?state=discarded", []Action{click(`.everyone button[value="retry"]`), asked}},
		{"dialog-priority", "/jobs?state=discarded", []Action{click(`.everyone button[value="priority"]`), asked}},
		{"dialog-stop", "/workers", []Action{click(`button[value="stop"]`), asked}},
		{"dialog-task", "/jobs/" + s.Import.String(), []Action{Until(`document.querySelector(".stop")`), click(".stop"), asked}},
		{"dialog-stack", "/failures", []Action{click(".failures summary")}},
		{"dialog-copies", "/jobs/" + s.scheduled.String(), []Action{click(".copies summary"), click(".menu summary")}},
		{"dialog-numbers", "/queue?name=mail", []Action{click(".numbers summary")}},
	}
}

var anyID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)

// shotName returns a path as a part of a file name.
func (s *stage) shotName(path string) string {
	path = strings.NewReplacer(
		s.Import.String(), "running", s.Failed.String(), "failed", s.completed.String(), "completed", s.scheduled.String(), "scheduled", longName, "long",
	).Replace(path)
	path = anyID.ReplaceAllString(path, "long")
	return strings.NewReplacer("/", "-", "?", "-", "=", "-", "&", "-", "%3D", "-", "%28", "").Replace(path)
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
