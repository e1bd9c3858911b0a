package sqlite

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"sync"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// texts has the statements of the SQL files by the name above each. A word that starts with $ is replaced by the text of that
// name.
var texts = sync.OnceValue(func() map[string]string {
	named := map[string]string{}
	files, err := fs.Glob(sqlFiles, "sql/*.sql")
	if err != nil {
		panic(err)
	}
	for _, file := range files {
		text, err := sqlFiles.ReadFile(file)
		if err != nil {
			panic(err)
		}
		for _, part := range strings.Split(string(text), "-- name: ")[1:] {
			name, body, _ := strings.Cut(part, "\n")
			named[name] = strings.TrimSpace(body)
		}
	}
	insert := strings.NewReplacer("$job", named["job"], "$filter", named["filter"], "$due", named["due"], "$newest_of", named["newest_of"])
	for name, text := range named {
		named[name] = insert.Replace(text)
	}
	return named
})

// statement returns the SQL of the given name.
func statement(name string) string {
	text, ok := texts()[name]
	if !ok {
		panic("sqlite: no statement is named " + name)
	}
	return text
}

// A many is a statement with a part in braces, which is repeated for each of several rows, joined by commas.
type many struct {
	bySize func() [len(chunkSizes)]string // the statement for each number of rows in chunkSizes
}

// chunkSizes are the numbers of rows that statements are prepared for: enough for speed, few enough to keep them prepared.
var chunkSizes = [...]int{64, 16, 4, 1}

func repeated(name string) *many {
	return &many{sync.OnceValue(func() [len(chunkSizes)]string { return forSizes(name) })}
}

func forSizes(name string) (bySize [len(chunkSizes)]string) {
	text := statement(name)
	before, rest, found := strings.Cut(text, "{")
	part, after, closed := strings.Cut(rest, "}")
	if !found || !closed {
		panic(fmt.Sprintf("sqlite: statement %s has no part in braces", name))
	}
	for i, size := range chunkSizes {
		bySize[i] = before + part + strings.Repeat(", "+part, size-1) + after
	}
	return bySize
}

// chunks calls do for parts of n rows, each from row i on, with the SQL for its number of rows.
func (m *many) chunks(n int, do func(sql string, i, size int) error) error {
	bySize := m.bySize()
	for i, s := 0, 0; i < n; {
		if size := chunkSizes[s]; i+size > n {
			s++
		} else {
			if err := do(bySize[s], i, size); err != nil {
				return err
			}
			i += size
		}
	}
	return nil
}
