package serve

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/internal/access"
)

// hashPassword prints the hash of a password, which is typed twice without echo, or is the first line of the input.
func hashPassword(streams probe.Streams) error {
	password, err := readPassword(streams)
	if err != nil {
		return err
	}
	hash, err := access.HashPassword(password)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(streams.Out, hash)
	return err
}

func readPassword(streams probe.Streams) ([]byte, error) {
	if f, ok := streams.In.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return typePassword(streams.Err, func() ([]byte, error) { return term.ReadPassword(int(f.Fd())) })
	}
	line, err := bufio.NewReader(io.LimitReader(streams.In, 4096)).ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the password: %w", err)
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

// typePassword asks for a password twice.
func typePassword(out io.Writer, read func() ([]byte, error)) ([]byte, error) {
	var typed [2][]byte
	for i, question := range []string{"Password: ", "Again: "} {
		fmt.Fprint(out, question)
		text, err := read()
		fmt.Fprintln(out)
		if err != nil {
			return nil, fmt.Errorf("read the password: %w", err)
		}
		typed[i] = text
	}
	if !bytes.Equal(typed[0], typed[1]) {
		return nil, errors.New("the two passwords differ")
	}
	return typed[0], nil
}

// newToken prints a new token and its hash.
func newToken(streams probe.Streams) error {
	token, hash := access.NewToken()
	_, err := fmt.Fprintf(streams.Out, "token %s\nhash  %s\n", token, hash)
	return err
}
