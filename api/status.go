package api

import (
	_ "embed"
	"net/http"
)

// counts shows how many jobs there are.
func (a *API) counts(w http.ResponseWriter, r *http.Request) error {
	counts, err := a.config.Store.Counts(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]any{"counts": list(counts)})
}

//go:embed openapi.yaml
var description []byte

// describe serves the description of the API.
func (a *API) describe(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(description) // an error concerns the client alone
	return nil
}
