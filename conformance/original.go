//go:build original

package conformance

import _ "github.com/contribsys/faktory/cli" // what the command of the original is made of
