// Package segment keeps log records in files of its own. It is a [storage.Store].
//
//	store, err := segment.Open(ctx, "/var/lib/logs", segment.Config{})
//
// Records are appended to the end of one journal, for all services, and are on disk when Append returns. A journal that is large
// or old enough is closed and converted, in the background, into segments: one file for each service, of compressed blocks with
// an index that shows which blocks a word is in. Then the journal is deleted. When few records arrive, segments of a day are
// merged into larger ones, compressed with zstd. Searches read segments and journals. A block holds records by columns, one for
// each attribute: so a search reads only the columns that its filter needs, and skips those whose least and greatest values
// cannot match.
//
// The caller has to bound the number of services. The store remembers the numbers of services without records, unless there are more than
// 10,000 of them.
//
//	journal/00000007.journal                                what came last; records of all services
//	services/api/00000000000000000001-20260504-00000006.segment    records of one service
//	checkpoint                                              what is known of clients and services beyond these
//	lock                                                    held by the one process that uses the directory
package segment
