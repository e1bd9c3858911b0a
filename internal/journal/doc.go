// Package journal is a write-ahead log: files that frames are appended to, and that are read back after a crash.
//
//	file  = magic, number, when it was made in nanoseconds since 1970, checksum of these; frames
//	frame = mark, size of the table, size of the parts, how much of the file was on disk by then, checksum of these and of the table;
//	        the table; the parts
//
// Numbers are little-endian, checksums CRC-32C. The content of a table is up to the user of the package. It includes the size and the checksum of
// each part (see [Layout]), so the checksum of a large part is computed once, where the part comes from, and not while others wait to append.
//
// These rules hold for every journal:
//
//   - A frame is read back whole or not at all.
//   - Reading ends at the first frame that is not whole. It is what a process or a machine that crashed has left of its last write, and is cut off.
//     If a later frame says that this frame was on disk by then, the disk has damaged it, and only this frame is left out. Parts are not searched for a
//     later frame, unless the head or the table before them is lost.
//   - What a failed write has left is cut off before the next write.
//   - After a failed sync it is unknown what is on disk, and a second sync may succeed without the data. Frames that count only when they are on
//     disk (see [Folder.Durable]) are cut off, and their [Commit] fails. Where frames count as soon as they are written, the file accepts no more of
//     them ([ErrBroken]), and the user starts the next file.
//   - A file that was deleted or moved while it was in use, which each sync checks, accepts no more frames either. Its frames that count can be read
//     until it is closed, and no later.
package journal
