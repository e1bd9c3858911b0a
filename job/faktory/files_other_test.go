//go:build !unix

package faktory_test

// openFiles returns a guess of how many files this process may open.
func openFiles() uint64 { return 3000 }
