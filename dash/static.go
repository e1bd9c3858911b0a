package dash

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
)

//go:embed static templates
var files embed.FS

// serveStatic serves a file that its address names by its content, so that browsers may keep it.
func serveStatic(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("v") == version(r.PathValue("name")) {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeFileFS(w, r, files, "static/"+r.PathValue("name"))
}

// version returns what changes with the content of a static file.
func version(name string) string {
	content, err := files.ReadFile("static/" + name)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:6])
}
