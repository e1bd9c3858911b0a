// Package segment keeps log records in files of its own. It is a [storage.Store].
//
//	store, err := segment.Open(ctx, "/var/lib/logs", segment.Config{})
//
// What is appended goes to the end of one journal, for all services, and is on disk when Append returns. A journal that is
// large or old enough is closed and turned, in the background, into segments: one file for each service, of compressed
// blocks with an index that shows which blocks a word is in. Then it is deleted. When little comes in, segments of a day are
// made into larger ones, compressed by zstd. Searches read segments and journals. A block holds records by columns, one for each
// attribute: so a search reads those alone that its filter looks at, and skips what is outside the least and the greatest value.
//
// Names of services are the caller's to bound. Of those that have nothing any more it remembers the numbers, unless they are
// more than 10,000.
//
//	journal/00000007.journal                                what came last; records of all services
//	services/api/00000000000000000001-20260504-00000006.segment    records of one service
//	checkpoint                                              what is known of clients and services beyond these
//	lock                                                    held by the one process that uses the directory
package segment
