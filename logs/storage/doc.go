// Package storage is the contract of what keeps records: stores, searches, histograms and counts. Package logs/segment is the
// store, logs/remote the client of a server's, and logs/logtest has the contract as tests.
//
// It imports packages logs and logs/filter.
package storage
