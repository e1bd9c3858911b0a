// Package engines tests outputs and inputs of logs against the servers and clients they are made for, which run as programs of their own. It has
// nothing but tests, and is a module so that what those servers are made of never becomes ours.
package engines
