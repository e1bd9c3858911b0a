package job

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"
)

// MetaWebhook is the key of Meta for the URL that the option [Webhook] names.
const MetaWebhook = "webhook"

const (
	webhookKind = "http.request" // of package job/httprequest, which makes the call
	mostWebhook = 2000           // bytes of the URL
)

// Webhook sends an HTTP POST to a URL when a worker has finished the job, whether it completed, was canceled or was discarded:
//
//	{"id":"…","kind":"resize","queue":"default","state":"completed","attempt":1,"created":"…","result":…,"error":"…","meta":{…}}
//
// The call is a job of kind http.request in the default queue, which is enqueued in the transaction that writes the outcome: it is made
// if, and only if, the outcome counts, and repeated until the server accepts it. This needs a worker with the handler of package
// job/httprequest, such as meanwhile serve; it signs calls if it has a key. No call is made for a job that is canceled or deleted while it
// is queued. The URL is kept in [Job.Meta], where everybody who may read the job sees it.
func Webhook(address string) Option { return Meta(MetaWebhook, address) }

// checkWebhook returns an error if meta has a webhook whose URL is invalid.
func checkWebhook(meta map[string]string) error {
	text, given := meta[MetaWebhook]
	if !given {
		return nil
	}
	if len(text) > mostWebhook {
		return fmt.Errorf("the URL of the webhook has %d bytes: give at most %d", len(text), mostWebhook)
	}
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return fmt.Errorf("the webhook (%q in meta) is not a URL such as https://example.com/finished", MetaWebhook)
	case u.User != nil:
		return fmt.Errorf("the URL of the webhook has a user or a password, which everybody sees who may read the job: verify the signature of the call instead")
	}
	return nil
}

// webhookCall are args of kind http.request.
type webhookCall struct {
	Method string      `json:"method"`
	URL    string      `json:"url"`
	JSON   webhookBody `json:"json"`
	Sign   bool        `json:"sign"`
}

type webhookBody struct {
	ID      ID                `json:"id"`
	Kind    string            `json:"kind"`
	Queue   string            `json:"queue"`
	State   State             `json:"state"`
	Attempt int               `json:"attempt"`
	Created time.Time         `json:"created"`
	Result  json.RawMessage   `json:"result,omitempty"`
	Error   string            `json:"error,omitempty"`
	Meta    map[string]string `json:"meta,omitempty"`
}

// outcome returns the outcome of a job in its present state, with its follow-up jobs: then, and the call of its webhook if it has finished.
func (j *Job) outcome(then []*Job) Outcome {
	o := Outcome{Job: j, Then: then}
	if j.Meta[MetaWebhook] == "" || !j.State.Finished() {
		return o
	}
	body := webhookBody{ID: j.ID, Kind: j.Kind, Queue: j.Queue, State: j.State, Attempt: j.Attempt, Created: j.Created, Result: j.Result}
	if j.State != Completed {
		body.Error = j.LastError()
	}
	body.Meta = maps.Clone(j.Meta)
	delete(body.Meta, MetaWebhook)
	args, err := json.Marshal(webhookCall{Method: "POST", URL: j.Meta[MetaWebhook], JSON: body, Sign: true})
	if err != nil { // the result is not JSON, which no handler of ours returns
		body.Result = nil
		args, _ = json.Marshal(webhookCall{Method: "POST", URL: j.Meta[MetaWebhook], JSON: body, Sign: true})
	}
	if call, err := New(webhookKind, args, Meta("webhook.job", j.ID.String())); err == nil {
		o.Then = append(slices.Clip(then), call)
	}
	return o
}
