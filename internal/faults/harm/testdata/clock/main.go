// Clock prints, for each line that it reads, the time of its clock, and how long it has been running.
package main

import (
	"bufio"
	"fmt"
	"os"
	"time"
)

func main() {
	begun := time.Now()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		now := time.Now()
		fmt.Println(now.UnixNano(), now.Sub(begun).Nanoseconds(), time.Since(begun).Nanoseconds(), time.Until(begun.Add(time.Hour)).Nanoseconds())
	}
}
