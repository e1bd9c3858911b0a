package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

type notifier struct {
	parts    *parts
	services []*service
}

// notify sends a message through all services concurrently, and fails when one of them has failed. The next attempt sends
// only the missing parts.
func (n *notifier) notify(ctx context.Context, m Message) error {
	j, ok := job.FromContext(ctx)
	if !ok {
		return errors.New("notify is called without a job")
	}
	var sends []func(context.Context) (error, error)
	for _, s := range n.services {
		// A failure is the result of a part and not its error: an error would cancel the other two while they run.
		sends = append(sends, func(ctx context.Context) (error, error) { return n.once(ctx, j.ID, s, m), nil })
	}
	failures, err := meanwhile.All(ctx, sends...)
	if err != nil {
		return err
	}
	return errors.Join(failures...)
}

// once sends a message through a service unless an earlier attempt has. If the process dies between sending the part and
// recording it, the part is sent again; for that case, the service receives a key by which it can recognize the part.
func (n *notifier) once(ctx context.Context, id job.ID, s *service, m Message) error {
	done, err := n.parts.done(ctx, id, s.name)
	if done || err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, strings.NewReader(m.Text))
	if err != nil {
		return err
	}
	request.Header.Set("Idempotency-Key", id.String()+"/"+s.name)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("send by %s: %s", s.name, response.Status)
	}
	return n.parts.note(ctx, id, s.name)
}
