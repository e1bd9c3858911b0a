package main

import (
	"bufio"
	"bytes"
	"embed"
	"fmt"
	"regexp"
)

// The lines at which tasks get stuck end with a comment that has a name, the mark. The program finds these marks in its own source, so that what it
// expects always matches the code.

//go:embed *.go
var source embed.FS

var marks = findMarks()

// A sourceLine is a line of the source.
type sourceLine struct {
	file string
	line int
}

func (p sourceLine) String() string { return fmt.Sprintf("%s:%d", p.file, p.line) }

func findMarks() map[string]sourceLine {
	mark := regexp.MustCompile(`// stuck: ([a-z0-9-]+)$`)
	found := make(map[string]sourceLine)
	files, err := source.ReadDir(".")
	if err != nil {
		panic("read the embedded source: " + err.Error())
	}
	for _, f := range files {
		text, err := source.ReadFile(f.Name())
		if err != nil {
			panic("read the embedded source: " + err.Error())
		}
		lines := bufio.NewScanner(bytes.NewReader(text))
		for number := 1; lines.Scan(); number++ {
			m := mark.FindStringSubmatch(lines.Text())
			if m == nil {
				continue
			}
			here := sourceLine{f.Name(), number}
			if there, ok := found[m[1]]; ok {
				panic(fmt.Sprintf("the mark %q is at %v and at %v: give one of them another name", m[1], there, here))
			}
			found[m[1]] = here
		}
		if err := lines.Err(); err != nil {
			panic("read the embedded " + f.Name() + ": " + err.Error())
		}
	}
	return found
}
