// Package journal is a write-ahead log: files that frames are appended to, and that are read back after a crash.
//
//	file  = magic, number, when it was made in nanoseconds since 1970, checksum of these; frames
//	frame = mark, size of the table, size of the parts, how much of the file was on disk by then, checksum of these and of the table;
//	        the table; the parts
//
// Numbers are little-endian, checksums CRC-32C. What a table says is for the user of the package alone, who finds in it the size and
// the checksum of each part (see [Layout]): so large parts are summed up once, where they come from, and not while others wait to append.
//
// These rules hold for every journal:
//
//   - A frame is there whole or not at all.
//   - Reading ends at the first frame that is not whole, which is the torn end of a process or a machine that died, and is cut off.
//     When a later frame says that it was on disk by then, it is no end: the disk has damaged it, and it is left out alone.
//   - What a failed write has left is cut off before more is written.
//   - After a failed sync nobody knows what is on disk, and a second one may succeed without it. Frames that count only when they are
//     on disk (see [Folder.Durable]) are cut off, and their [Commit] fails. Where frames count as soon as they are written, the file
//     takes no more of them ([ErrBroken]), and the user begins the next.
//   - A file that was deleted or moved while it was in use, as each sync finds out, takes no more either. What counts in it can still be
//     read until it is closed, and no later.
package journal
