// Package harm is what the fault programs break things with, and what cleans up after them: processes that are started again, a
// proxy that cuts and holds up connections, a disk that can be full, clocks that jump, a guard that leaves nothing behind, also
// when the program is killed.
package harm
