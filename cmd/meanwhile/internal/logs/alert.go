package logs

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/settings"
	"github.com/meanwhile-go/meanwhile/job/httprequest"
	"github.com/meanwhile-go/meanwhile/logs/server"
)

// An alertSetting is an alert, and the URL of the webhook for when it fires and when it ends; "" for none.
type alertSetting struct {
	server.Alert
	webhook string
}

// alert parses an element of the list alerts.
func (r *routeSettings) alert(n *yaml.Node) error {
	var a alertSetting
	text := func(s string) (string, error) { return s, nil }
	err := mapping(n, "an alert", map[string]func(*yaml.Node) error{
		"name":   value(&a.Name, text, "a name"),
		"filter": records(&a.Filter),
		"count":  value(&a.Count, strconv.Atoi, "a number of records"),
		"window": value(&a.Window, age, "a time such as 5m"),
		"quiet":  value(&a.Quiet, age, "a time such as 30m"),
		"webhook": func(n *yaml.Node) (err error) {
			a.webhook, err = n.Value, checkWebhook(n.Value)
			return err
		},
	})
	for _, other := range r.alerts {
		if err == nil && other.Name == a.Name {
			err = errors.New("two alerts have this name: give each its own")
		}
	}
	if err == nil {
		err = a.Check()
	}
	r.alerts = append(r.alerts, a)
	return settings.At(n.Line, fmt.Sprintf("alert %.60q", a.Name), err)
}

// checkWebhook validates the URL of a webhook. Its errors do not show the URL, since it may contain a secret.
func checkWebhook(text string) error {
	if err := (&httprequest.Args{URL: text}).Check(); err != nil {
		return fmt.Errorf("%w: give one such as https://example.com/alerts", err)
	}
	if u, err := url.Parse(text); err != nil || u.User != nil {
		return errors.New("the URL has a user or a password, which would be stored with each call: verify the signature of the call instead")
	}
	return nil
}

// alertText describes an alert. Of its webhook it shows only the host.
func alertText(a alertSetting) string {
	text := fmt.Sprintf("%s: %d records", a.Name, a.Count)
	if filter := a.Filter.String(); filter != "" {
		text += " of " + filter
	}
	text += fmt.Sprintf(" within %v", a.Window)
	if u, err := url.Parse(a.webhook); err == nil && a.webhook != "" {
		text += ", webhook at " + u.Host
	}
	return text
}
