//go:build !unix

package faktory_test

// openFiles is how many files this process may open, as far as is known.
func openFiles() uint64 { return 3000 }
