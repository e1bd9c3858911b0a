package serve

import (
	"github.com/alecthomas/kong"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/settings"
	"github.com/meanwhile-go/meanwhile/internal/access"
)

// Examples for messages about invalid addresses.
const (
	exampleListen  = "127.0.0.1:7070"
	exampleFaktory = "127.0.0.1:7419"
)

// file describes how the file of --config is read.
var file = settings.File{Command: "meanwhile serve", Check: func(key string, value any) (err error) {
	switch key {
	case "listen":
		_, err = settings.Address(value.(string), exampleListen)
	case "faktory":
		if address := value.(string); address != "" {
			_, err = settings.Address(address, exampleFaktory)
		}
	case "user":
		_, err = settings.ParseAll[access.User](value.([]string))
	case "token":
		_, err = settings.ParseAll[access.Token](value.([]string))
	}
	return err
}}

// BeforeResolve makes kong use settings from the file if neither a flag nor the environment has them.
func (c *Command) BeforeResolve(ctx *kong.Context, path *kong.Path) error {
	return file.Resolve(ctx, path)
}
