package dash

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"sync"
	"time"
)

//go:embed static templates
var files embed.FS

// packed are the static files, gzipped.
var packed = sync.OnceValue(func() map[string][]byte {
	found := map[string][]byte{}
	entries, err := files.ReadDir("static")
	if err != nil {
		panic("dash: " + err.Error()) // they are embedded
	}
	for _, entry := range entries {
		content, err := files.ReadFile("static/" + entry.Name())
		if err != nil {
			panic("dash: " + err.Error())
		}
		found[entry.Name()] = gzipped(content)
	}
	return found
})

// serveStatic serves a file whose URL has a version of its content, so that browsers may cache it.
func serveStatic(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if r.URL.Query().Get("v") == version(name) {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	w.Header().Add("Vary", "Accept-Encoding")
	if content, ok := packed()[name]; ok && acceptsGzip(r) {
		w.Header().Set("Content-Encoding", "gzip")
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
		return
	}
	http.ServeFileFS(w, r, files, "static/"+name)
}

// version returns a text that changes with the content of a static file.
func version(name string) string {
	content, err := files.ReadFile("static/" + name)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:6])
}
