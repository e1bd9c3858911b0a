// Package filter is the query language for records: it parses filters, matches records, and defines what an index of blocks must
// hold so that a search can skip blocks. The guide to searching, docs/logs-search.md, explains what filters mean.
//
// It imports package logs, whose records it matches.
package filter
