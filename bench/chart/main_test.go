package main

import (
	"os"
	"strings"
	"testing"
)

const sample = `
<!-- one -->

| | ns | allocs |
|---|---:|---:|
| meanwhile | 1,234 · 0.5× | 2 |
| other | 2.50×, worst 3.00× | – |

<!-- end -->

| | ns |
|---|---|
| later | 7 |
`

func TestFind(t *testing.T) {
	for _, test := range []struct {
		cell      cell
		want, err string
	}{
		{cell{"<!-- one -->", "meanwhile", 2, ""}, "2", ""},
		{cell{"<!-- one -->", "other", 1, ""}, "2.50×", ""},
		{cell{"<!-- two -->", "other", 1, ""}, "", "there is no table <!-- two -->"},
		{cell{"<!-- one -->", "later", 1, ""}, "", `<!-- one -->: there is no row "later"`},
		{cell{"<!-- one -->", "other", 3, ""}, "", `<!-- one -->: row "other" has no column 3`},
	} {
		got, err := find(sample, test.cell)
		if got != test.want || (err == nil) != (test.err == "") || err != nil && err.Error() != test.err {
			t.Errorf("%+v: got %q, %v", test.cell, got, err)
		}
	}
	if err := draw(new(strings.Builder), sample, []panel{{cells: []cell{{"<!-- one -->", "other", 2, ""}}}}); err == nil {
		t.Error("a cell without a figure is drawn")
	}
}

// TestPicture compares the picture of the documentation with a newly drawn one.
func TestPicture(t *testing.T) {
	text, err := os.ReadFile("../../docs/benchmarks-method.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../../docs/benchmarks.svg")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	if err := draw(&got, string(text), panels); err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Error("docs/benchmarks.svg is of other tables: in bench, go run ./chart ../docs/benchmarks-method.md >../docs/benchmarks.svg")
	}
}
