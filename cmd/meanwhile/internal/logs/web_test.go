package logs

import (
	"encoding/base64"
	"testing"
)

// TestKeyIn: clients send the key in the form that they support.
func TestKeyIn(t *testing.T) {
	encoded := base64.StdEncoding.EncodeToString([]byte("anybody:k:ey"))
	for header, want := range map[string]string{
		"Bearer k:ey": "k:ey", "bearer x": "x", "Basic " + encoded: "k:ey", "ApiKey " + encoded: "k:ey",
		"": "", "Basic k:ey": "", "Digest x": "", "k:ey": "", "Basic " + base64.StdEncoding.EncodeToString([]byte("k:")): "",
	} {
		if got := keyIn(header); got != want {
			t.Errorf("%s: got %q, want %q", header, got, want)
		}
	}
}
