// Package logs is the command "meanwhile logs".
package logs

import "github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/send"

// A Command has the subcommands of "meanwhile logs", filled in by kong.
type Command struct {
	Serve Serve        `cmd:"" help:"Run a log server: receive, store, search and forward records."`
	Send  send.Command `cmd:"" help:"Send the output of a command, or stdin, to a log server."`

	Find     Find     `cmd:"" help:"Search records and print them."`
	Tail     Tail     `cmd:"" help:"Print the newest records and follow new ones."`
	Services Services `cmd:"" help:"List the services that have stored records."`
	Stats    Stats    `cmd:"" help:"Print the counters of a log server."`
}

// Help is the text above the flags.
func (*Command) Help() string {
	return `Collects the logs of many processes on one server, which stores, searches and forwards them.

Exit codes: 0 done, 1 not done, 2 usage error, 130 interrupted.`
}
