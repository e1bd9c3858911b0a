package logs

import (
	"bufio"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/logs"
)

// Output has the flags that say how records are printed, filled in by kong.
type Output struct {
	JSON     bool   `group:"Output" name:"json" xor:"format" help:"Print each record as a line of JSON."`
	Template string `group:"Output" xor:"format" placeholder:"TEMPLATE" help:"Print each record with this Go template, such as '{{.Time}} {{.Message}}'."`
	UTC      bool   `group:"Output" name:"utc" help:"Print times in UTC (default: the local time zone)."`
	NoColor  bool   `group:"Output" help:"Print no colors, like NO_COLOR in the environment. Colors are only printed to a terminal."`
}

// A printer prints records.
type printer struct {
	w      *bufio.Writer
	append func(b []byte, r *logs.Record) ([]byte, error) // appends a record, with a line end
	buffer []byte
}

// printer returns a printer for the output.
func (o *Output) printer(streams probe.Streams) (*printer, error) {
	p := &printer{w: bufio.NewWriterSize(streams.Out, 64<<10)}
	zone := time.Local
	if o.UTC {
		zone = time.UTC
	}
	switch {
	case o.JSON:
		p.append = func(b []byte, r *logs.Record) ([]byte, error) { return append(r.AppendJSON(b), '\n'), nil }
	case o.Template != "":
		t, err := newTemplate(o.Template, zone)
		if err != nil {
			return nil, err
		}
		p.append = t.append
	default:
		lines := &people{zone: zone, year: time.Now().In(zone).Year(), colors: o.colors(streams.Out)}
		p.append = func(b []byte, r *logs.Record) ([]byte, error) { return lines.append(b, r), nil }
	}
	return p, nil
}

func (o *Output) colors(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && !o.NoColor && os.Getenv("NO_COLOR") == "" && term.IsTerminal(int(f.Fd()))
}

func (p *printer) print(r *logs.Record) (err error) {
	if p.buffer, err = p.append(p.buffer[:0], r); err == nil {
		_, err = p.w.Write(p.buffer)
	}
	return err
}

// all prints records, including those before an error, and returns their number.
func (p *printer) all(records meanwhile.Stream[logs.Record]) (n int, err error) {
	return printEach(p, records, func(r logs.Record) error { return p.print(&r) })
}

// lines prints lines unchanged.
func (p *printer) lines(texts meanwhile.Stream[[]byte]) (n int, err error) {
	return printEach(p, texts, func(text []byte) error {
		p.buffer = append(append(p.buffer[:0], text...), '\n')
		_, err := p.w.Write(p.buffer)
		return err
	})
}

func printEach[T any](p *printer, all meanwhile.Stream[T], print func(T) error) (n int, err error) {
	for one, err := range all {
		if err == nil {
			n++
			err = print(one)
		}
		if err != nil {
			if last := p.w.Flush(); last != nil { // which is also the error of print
				err = last
			}
			return n, err
		}
	}
	return n, p.w.Flush()
}
