package logs

import (
	"log/slog"
	"time"
)

// A Record is one log line, as the one who asked for it gets it. It shares nothing with others.
type Record struct {
	Time    time.Time   // when it was logged; UTC
	Level   slog.Level  //
	Service string      // which program logged it
	Message string      //
	Task    string      // the path of the task it was logged in, empty for none
	Job     string      // the ID of the job it was logged in, empty for none
	Attrs   []slog.Attr // with groups as parts of the keys: "http.status"; values are those of a [View]
	Number  uint64      // its place among the records of its service in one store, from 1 on; zero before it is stored
}

// View returns the record as a view.
func (r *Record) View() View {
	v := View{Time: r.Time.UnixNano(), Level: r.Level, Service: []byte(r.Service), Message: []byte(r.Message), Task: []byte(r.Task), Job: []byte(r.Job), Number: r.Number}
	for _, a := range r.Attrs {
		v.AddAttr(a)
	}
	return v
}
