package sqlite

import "slices"

// leastRange is how many rows a range has at least: for fewer rows, a statement that names each costs less.
const leastRange = 8

// ranges sorts the numbers of rows, and calls ranged for those that follow each other without a gap, and then each for the rest. Jobs that were
// inserted together are usually claimed and settled together, and naming each of them costs more than changing it.
func ranges(seqs []int64, ranged func(from, to int64) error, each func(seqs []int64) error) error {
	slices.Sort(seqs)
	rest := seqs[:0]
	for len(seqs) > 0 {
		n := 1
		for n < len(seqs) && seqs[n] == seqs[n-1]+1 {
			n++
		}
		if n < leastRange {
			rest = append(rest, seqs[:n]...)
		} else if err := ranged(seqs[0], seqs[n-1]); err != nil {
			return err
		}
		seqs = seqs[n:]
	}
	return each(rest)
}
