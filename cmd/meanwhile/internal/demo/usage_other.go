//go:build !unix

package demo

// usage is not told by systems that are no Unix.
func usage() used { return used{} }
