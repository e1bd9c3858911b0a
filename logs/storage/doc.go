// Package storage defines the contract of stores of log records: appending, searches, histograms and counts. Package logs/segment is a
// store, logs/remote has the client of a server's store, and logs/logtest tests the contract.
//
// It imports packages logs and logs/filter.
package storage
