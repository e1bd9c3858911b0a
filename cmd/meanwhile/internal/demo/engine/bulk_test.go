package engine

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestBulk(t *testing.T) {
	ask := open(t)
	ask.want(200, "PUT", "/other", "")
	got := ask.want(200, "POST", "/go/_bulk", strings.Join([]string{
		`{"index":{"_id":"1"}}`, `{"text":"one"}`,
		`{"create":{"_id":"1"}}`, `{"text":"again"}`,
		``,
		`{"index":{"_index":"other","_id":"2"}}`, `{"text":"two"}`,
		`{"index":{"_index":"none","_id":"3"}}`, `{"text":"three"}`,
		`{"index":{"_id":"4"}}`, `4`,
		`{"delete":{"_id":"io.Reader"}}`,
		`{"delete":{"_id":"none"}}`,
		`{"create":{"_id":"5"}}`, `{"text":"five"}`, ``,
	}, "\n"))
	if got["errors"] != true {
		t.Errorf("got errors %v", got["errors"])
	}
	var short []string
	for _, item := range got["items"].([]any) {
		for do, result := range item.(map[string]any) {
			r := result.(map[string]any)
			line := []any{do, r["_index"], r["_id"], r["status"]}
			if failed, ok := r["error"].(map[string]any); ok {
				line = append(line, failed["type"])
			} else {
				line = append(line, r["result"])
			}
			text, err := json.Marshal(line)
			if err != nil {
				t.Fatal(err)
			}
			short = append(short, string(text))
		}
	}
	want := []string{
		`["index","go","1",201,"created"]`,
		`["create","go","1",409,"version_conflict_engine_exception"]`,
		`["index","other","2",201,"created"]`,
		`["index","none","3",404,"index_not_found_exception"]`,
		`["index","go","4",400,"mapper_parsing_exception"]`,
		`["delete","go","io.Reader",200,"deleted"]`,
		`["delete","go","none",404,"not_found"]`,
		`["create","go","5",201,"created"]`,
	}
	if strings.Join(short, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(short, "\n"), strings.Join(want, "\n"))
	}
	ask.same(ask.want(200, "GET", "/go/_count", ""), `{"count":4}`)
	ask.same(ask.want(200, "POST", "/_bulk", "{\"index\":{\"_index\":\"go\",\"_id\":\"1\"}}\n{}")["errors"], `false`)
}

// FuzzBulk sends arbitrary bodies as a _bulk request. The engine executes all, some or none of the actions, reports each, and
// never has an internal error.
func FuzzBulk(f *testing.F) {
	for _, seed := range []string{
		"", "\n", "{}", "{\"index\":{}}\n{}", "{\"index\":{\"_id\":\"a\"}}\r\n{\"text\":\"b\"}\r\n{\"delete\":{\"_id\":\"a\"}}",
		"{\"create\":{\"_index\":null}}\n{\"text\":[\"x\",1,null]}", "{\"index\":{},\"delete\":{}}\n{}", "{\"delete\":{\"_id\":\"\"}}", "{\"index\":null}\nnull",
	} {
		f.Add([]byte(seed))
	}
	ask := open(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		status, text := ask.send("POST", "/go/_bulk", string(body))
		var got struct {
			Items  []map[string]written
			Errors bool
			Error  *failure
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		switch {
		case status == 400 && got.Error != nil && len(got.Items) == 0:
		case status == 200 && got.Error == nil && len(got.Items) > 0 && len(got.Items) <= bytes.Count(body, []byte("\n"))+1:
			failed := false
			for _, item := range got.Items {
				for do, w := range item {
					if w.Status == 0 || w.Status >= 500 || (w.Error == nil) != (w.Status < 400 || w.Result == "not_found") {
						t.Errorf("%q: %s %+v", body, do, w)
					}
					failed = failed || w.Error != nil
				}
			}
			if failed != got.Errors {
				t.Errorf("%q: errors is %v: %s", body, got.Errors, text)
			}
		default:
			t.Errorf("%q: got %d %s", body, status, text)
		}
	})
}

// FuzzQuery searches for arbitrary texts with each kind of query. There is always a result: no text of a query is an error.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{"timeout", `a"b`, "a AND", "NEAR(a b)", "c1:x", "*", "-", "^a", "{", "a* -b | \"c d\" + e", "\x00", "🙂", "'; drop table words; --", "ö ß ﬁ", "\u0301"} {
		f.Add(seed)
	}
	ask := open(f)
	f.Fuzz(func(t *testing.T, text string) {
		words, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, query := range []string{`{"match":{"text":%}}`, `{"multi_match":{"query":%}}`, `{"simple_query_string":{"query":%}}`} {
			query = `{"query":` + strings.Replace(query, "%", string(words), 1) + `,"highlight":{"fields":{"text":{}}}}`
			status, answer := ask.send("POST", "/go/_search", query)
			if !json.Valid([]byte(answer)) || status != 200 && status != 400 {
				t.Errorf("%s: got %d %s", query, status, answer)
			}
		}
	})
}

// FuzzSearchBody sends arbitrary bodies as a search.
func FuzzSearchBody(f *testing.F) {
	for _, seed := range []string{`{"query":{"match":{"text":"a"}},"size":1,"from":0}`, `{"query":null}`, `{"query":[]}`, `{"query":{"match":null}}`, `{"query":{"multi_match":{"fields":["*"],"query":"a"}}}`, `{"highlight":{"fields":{"text":{}}}}`} {
		f.Add(seed)
	}
	ask := open(f)
	f.Fuzz(func(t *testing.T, body string) {
		if status, answer := ask.send("POST", "/go/_search", body); !json.Valid([]byte(answer)) || status != 200 && status != 400 {
			t.Errorf("%q: got %d %s", body, status, answer)
		}
	})
}
