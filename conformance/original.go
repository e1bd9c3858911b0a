//go:build original

package conformance

import _ "github.com/contribsys/faktory/cli" // keeps the dependencies of the original's command in go.mod
