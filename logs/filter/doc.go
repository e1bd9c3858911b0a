// Package filter is the language in which records are searched: it parses filters, matches records, and says what an index of
// blocks has to hold so that a search can leave blocks out. The guide to searching, docs/logs-search.md, says what filters mean.
//
// It imports package logs, whose records it matches.
package filter
