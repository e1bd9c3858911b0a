// Package logs is the command "meanwhile logs".
package logs

import "github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/send"

// A Command is what "meanwhile logs" was asked for, as kong fills it.
type Command struct {
	Serve Serve        `cmd:"" help:"Take records in from many processes and keep them."`
	Send  send.Command `cmd:"" help:"Send lines of standard input or of a command."`

	Find     Find     `cmd:"" help:"Print the records that match."`
	Tail     Tail     `cmd:"" help:"Print the newest records that match, and follow them."`
	Services Services `cmd:"" help:"List the services of which records are kept."`
	Stats    Stats    `cmd:"" help:"Print what a server has done."`
}

// Help is the text above the flags.
func (*Command) Help() string {
	return `Gathers what many processes log in one place.

Exit codes: 0 done, 1 not done, 2 not understood, 130 interrupted.`
}
