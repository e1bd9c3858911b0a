package terminal

import (
	"io"
	"os"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// A View shows progress below the printed lines. It uses mpb and not bubbletea, because mpb only writes: it does not handle
// Ctrl-C, read the keyboard or change the terminal's mode, so a crash leaves nothing to restore.
type View struct {
	progress *mpb.Progress
	bar      *mpb.Bar
}

// NewView shows the lines that draw returns for the width of the terminal, at least one, several times a second.
func NewView(w *os.File, draw func(width int) []string) *View {
	v := &View{progress: mpb.New(mpb.WithOutput(fromLeft{w}), mpb.WithAutoRefresh(), mpb.WithRefreshRate(100*time.Millisecond))}
	var more []string
	first := func(out io.Writer, _ decor.Statistics) error {
		lines := draw(Columns(w))
		more = lines[1:]
		_, err := io.WriteString(out, lines[0])
		return err
	}
	others := func(out io.Writer, _ decor.Statistics) error {
		for _, line := range more {
			if _, err := io.WriteString(out, line+"\n"); err != nil {
				return err
			}
		}
		return nil
	}
	v.bar = v.progress.MustAdd(0, mpb.BarFillerFunc(first),
		mpb.BarExtender(mpb.BarFillerFunc(others), false), mpb.BarFillerTrim())
	return v
}

// fromLeft writes from the first column: the terminal may have shown ^C at the cursor.
type fromLeft struct{ w io.Writer }

func (f fromLeft) Write(p []byte) (int, error) {
	n, err := f.w.Write(append([]byte{'\r'}, p...))
	return max(0, n-1), err
}

// Write prints lines above the view.
func (v *View) Write(p []byte) (int, error) { return v.progress.Write(p) }

// Close removes the view.
func (v *View) Close() {
	v.bar.Abort(true)
	v.progress.Wait()
}
