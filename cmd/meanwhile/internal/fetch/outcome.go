package fetch

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
)

// maxOutcomes is the maximum number of lines in the table of outcomes; all others are one more line.
const maxOutcomes = 12

// An outcome is a group of transfers in the table of the summary: those with the same status, or the same class of error.
type outcome struct {
	status int    // 0 if the error is not a status
	class  string // of the error; empty for a status
}

// outcomeOf returns the outcome of a transfer. There are as many as statuses, and about twenty classes.
func outcomeOf(t *transfer) outcome {
	_, isStatus := errors.AsType[*statusError](t.err)
	if t.err == nil || isStatus {
		return outcome{status: t.status}
	}
	return outcome{class: classOf(t.err)}
}

// classOf returns the class of an error that is not a status.
func classOf(err error) string {
	if timeout, ok := errors.AsType[*timeoutError](err); ok {
		return "timed out, " + timeout.phase.String()
	}
	if broken, ok := errors.AsType[*connectionError](err); ok {
		return broken.class
	}
	if unknown, ok := errors.AsType[*net.DNSError](err); ok {
		if unknown.IsNotFound {
			return "no such host"
		}
		return "host lookup failed"
	}
	if _, ok := errors.AsType[*tooLongError](err); ok {
		return "longer than --max-bytes"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "certificate not accepted"
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "certificate not accepted"
	}
	if _, ok := errors.AsType[*meanwhile.PanicError](err); ok {
		return "panic"
	}
	if final, ok := errors.AsType[*finalError](err); ok {
		return final.class
	}
	return "other error of the connection"
}

func (o outcome) String() string {
	if o.class != "" {
		return "ERR  " + o.class
	}
	return strings.TrimSpace(strconv.Itoa(o.status) + "  " + http.StatusText(o.status))
}

// An outcomeCount is a row of the table.
type outcomeCount struct {
	outcome
	count int
}

// listOutcomes sorts the table: statuses in numeric order, then errors, the most frequent first.
func listOutcomes(counts map[outcome]int) []outcomeCount {
	list := make([]outcomeCount, 0, len(counts))
	for o, n := range counts {
		list = append(list, outcomeCount{o, n})
	}
	slices.SortFunc(list, func(a, b outcomeCount) int {
		if a.class == "" || b.class == "" {
			return cmp.Or(cmp.Compare(min(1, len(a.class)), min(1, len(b.class))), cmp.Compare(a.status, b.status))
		}
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.class, b.class))
	})
	return list
}

// tabulate formats the table, at most 80 columns wide.
func tabulate(list []outcomeCount) string {
	var b strings.Builder
	for i, o := range list {
		if i == maxOutcomes && len(list) > maxOutcomes+1 {
			rest := 0
			for _, o := range list[i:] {
				rest += o.count
			}
			fmt.Fprintf(&b, "  %-45s  %11s\n", fmt.Sprintf("%d other outcomes", len(list)-i), probe.Number(rest))
			break
		}
		fmt.Fprintf(&b, "  %-45s  %11s\n", o.outcome, probe.Number(o.count))
	}
	return b.String()
}
