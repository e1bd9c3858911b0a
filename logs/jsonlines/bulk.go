package jsonlines

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/body"
	"github.com/meanwhile-go/meanwhile/internal/jsontext"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/input"
)

// MaxBulk is the largest bulk request, in bytes after decompression.
const MaxBulk = 16 << 20

// Bounds of the bulk requests of one handler.
const (
	bulkInFlight = 128 << 20 // bytes of all bodies together
	bulkWithin   = 30 * time.Second
)

// BulkHandler returns a handler of bulk requests of clients of Elasticsearch and OpenSearch, for the paths /_bulk and
// /INDEX/_bulk, and of the requests that these clients send first ([IsBulk] reports which requests are for this handler). The document of
// an action index or create becomes a record, as [Decoder] reads it. The item of an action delete or update has the status 400, since
// records cannot be changed. The service of a document that names none is its index, without a date at the end.
//
// The response has an item for each action, and is sent when the records are on disk. Otherwise it is
//
//	400  the body cannot be read, or a line that should be an action is not one; nothing is kept
//	413  the body has more than [MaxBulk]; nothing is kept
//	415  the Content-Encoding is not gzip; nothing is kept
//	503  there is no buffer space, or an output fails; Retry-After says when to retry
//
// Bodies may be gzipped. The bodies of all requests together use at most 128 MiB of memory, and each must arrive within 30 s. Cross-origin
// requests of browsers are refused. The handler does not authenticate: the program that mounts it decides who may send. Each request gets a
// batcher from open.
func BulkHandler(open func(*http.Request) input.Batcher) http.Handler {
	return http.NewCrossOriginProtection().Handler(&bulk{open: open, bodies: body.Reader{Most: MaxBulk, Budget: meanwhile.NewSemaphore(bulkInFlight)}})
}

type bulk struct {
	open   func(*http.Request) input.Batcher
	bodies body.Reader
}

func (h *bulk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Elastic-Product", "Elasticsearch") // its clients send nothing without this header
	index, ok := bulkIndex(r.URL.Path)
	switch {
	case !ok:
		h.probe(w, r)
		return
	case r.Method != http.MethodPost && r.Method != http.MethodPut:
		w.Header().Set("Allow", "POST, PUT")
		failBulk(w, &body.Problem{Status: http.StatusMethodNotAllowed, Text: "POST bulk requests here"})
		return
	}
	began := time.Now()
	_ = http.NewResponseController(w).SetReadDeadline(began.Add(bulkWithin)) // if the connection supports deadlines
	to := h.open(r)
	request, release, err := h.bodies.Read(r)
	defer release()
	var outcomes []outcome
	if err == nil {
		ctx, cancel := context.WithTimeoutCause(r.Context(), answerWithin, errAnswer)
		defer cancel()
		outcomes, err = takeBulk(ctx, to, request, index)
	}
	if err != nil {
		p, ok := errors.AsType[*body.Problem](err)
		switch {
		case !ok:
			p = &body.Problem{Status: http.StatusServiceUnavailable, Text: "the records could not be kept", After: 10}
		case p.Status != http.StatusServiceUnavailable:
			to.Refuse("bulk: " + http.StatusText(p.Status))
		}
		failBulk(w, p)
		return
	}
	answerBulk(w, request, index, outcomes, time.Since(began))
}

// An outcome is the result of one action.
type outcome byte

const (
	bulkTaken outcome = iota
	bulkMalformed
	bulkChange
)

// takeBulk adds the documents to the batcher, and returns when they are on disk.
func takeBulk(ctx context.Context, to input.Batcher, request []byte, index string) (outcomes []outcome, err error) {
	for rest := request; ; { // check all actions first, since nothing is kept if one of them is invalid
		var a action
		if a, rest, err = nextAction(rest, index); err != nil {
			line := 1 + bytes.Count(request[:len(request)-len(rest)], []byte{'\n'})
			return nil, &body.Problem{Status: http.StatusBadRequest, Text: fmt.Sprintf("line %d: %v", line, err)}
		}
		if a.name == "" {
			break
		}
		outcomes = append(outcomes, bulkTaken)
	}
	var decoder Decoder
	var view logs.View
	var waiting body.Waiting
	for i, rest := 0, request; i < len(outcomes); i++ {
		var a action
		a, rest, _ = nextAction(rest, index)
		switch {
		case a.name != "index" && a.name != "create":
			outcomes[i] = bulkChange
		case decoder.Decode(a.document, &view) != nil:
			outcomes[i] = bulkMalformed
		default:
			if len(view.Service) == 0 {
				view.Service = []byte(serviceOf(a.index))
			}
			full := waiting.Add(sizeOf(&view))
			to.Add(&view)
			if full {
				if err := to.Flush(ctx); err != nil {
					return nil, err
				}
			}
			continue
		}
		to.Refuse(bulkRefusals[outcomes[i]])
	}
	return outcomes, to.Sync(ctx)
}

var bulkRefusals = map[outcome]string{bulkMalformed: "malformed", bulkChange: "bulk: delete or update"}

// An action is an action of a bulk request, with its document.
type action struct {
	name     string // empty at the end of the request
	index    string
	id       string
	document []byte
}

const maxAction = 8 << 10 // bytes of the line of an action

// nextAction reads the action at the beginning of b, the rest of a request, and returns the rest after it. With an error, it returns the
// rest from the invalid line on.
func nextAction(b []byte, index string) (a action, rest []byte, err error) {
	var line, from []byte
	for len(line) == 0 {
		if len(b) == 0 {
			return action{}, nil, nil
		}
		from = b
		line, b = cutLine(b)
	}
	var named map[string]struct {
		Index string     `json:"_index"`
		ID    identifier `json:"_id"`
	}
	if len(line) > maxAction || json.Unmarshal(line, &named) != nil || len(named) != 1 {
		return action{}, from, fmt.Errorf("%.60q is not an action such as {\"create\":{}}", line)
	}
	for name, settings := range named {
		a.name, a.index, a.id = name, settings.Index, string(settings.ID)
	}
	if a.index == "" {
		a.index = index
	}
	switch a.name {
	case "delete":
		return a, b, nil
	case "index", "create", "update":
	default:
		return action{}, from, fmt.Errorf("%.60q is none of the actions index, create, update and delete", a.name)
	}
	if len(b) == 0 {
		return action{}, from, errors.New("no document follows the action")
	}
	a.document, b = cutLine(b)
	return a, b, nil
}

// An identifier is the ID of a document: a string, or a number with all of its digits.
type identifier string

// UnmarshalJSON accepts any value.
func (id *identifier) UnmarshalJSON(text []byte) error {
	if text[0] == '"' {
		return json.Unmarshal(text, (*string)(id))
	}
	if string(text) != "null" {
		*id = identifier(text)
	}
	return nil
}

func cutLine(b []byte) (line, rest []byte) {
	line, rest, _ = bytes.Cut(b, []byte{'\n'})
	return bytes.TrimSpace(line), rest
}

// bulkIndex returns the index of the path of a bulk request; ok is false for any other path.
func bulkIndex(path string) (index string, ok bool) {
	index, ok = strings.CutSuffix(path, "/_bulk")
	index = strings.TrimPrefix(index, "/")
	return index, ok && !strings.Contains(index, "/")
}

var dated = regexp.MustCompile(`[-_.]\d{4}[-_.]?\d{2}[-_.]?\d{2}$`)

// serviceOf returns the service of the documents of an index: its name without a date, since clients use a new index each day.
func serviceOf(index string) string {
	if service := dated.ReplaceAllString(index, ""); service != "" {
		return service
	}
	return Service
}

// answerBulk writes a response with an item for each action.
func answerBulk(w http.ResponseWriter, request []byte, index string, outcomes []outcome, took time.Duration) {
	wrong := false
	for _, o := range outcomes {
		wrong = wrong || o != bulkTaken
	}
	w.Header().Set("Content-Type", "application/json")
	to := bufio.NewWriter(w)
	_, _ = fmt.Fprintf(to, `{"took":%d,"errors":%t,"items":[`, took.Milliseconds(), wrong)
	var item []byte
	for i, o := range outcomes {
		var a action
		a, request, _ = nextAction(request, index)
		item = item[:0]
		if i > 0 {
			item = append(item, ',')
		}
		item = append(jsontext.AppendString(append(item, '{'), a.name), `:{"_index":`...)
		item = jsontext.AppendString(item, a.index)
		if a.id != "" {
			item = jsontext.AppendString(append(item, `,"_id":`...), a.id)
		}
		item = append(append(item, bulkAnswers[o]...), "}}"...)
		if _, err := to.Write(item); err != nil {
			return // the client has disconnected
		}
	}
	_, _ = to.WriteString("]}")
	_ = to.Flush()
}

var bulkAnswers = map[outcome]string{
	bulkTaken:     `,"status":201,"result":"created","_shards":{"total":1,"successful":1,"failed":0}`,
	bulkMalformed: `,"status":400,"error":{"type":"document_parsing_exception","reason":"the document is not a JSON object"}`,
	bulkChange:    `,"status":400,"error":{"type":"illegal_argument_exception","reason":"records do not change: send index or create"}`,
}

// failBulk writes the response to a request that failed as a whole.
func failBulk(w http.ResponseWriter, p *body.Problem) {
	if p.After > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.After))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(p.Status)
	answer := jsontext.AppendString([]byte(`{"error":{"type":"illegal_argument_exception","reason":`), p.Text)
	_, _ = w.Write(fmt.Appendf(answer, `},"status":%d}`, p.Status))
}
