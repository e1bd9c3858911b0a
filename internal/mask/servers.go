package mask

import (
	"net/url"
	"strings"
)

// servers returns the servers of all URLs among the strings of a value.
func servers(value any) map[string]bool {
	found := map[string]bool{}
	var add func(any)
	add = func(value any) {
		switch v := value.(type) {
		case string:
			if u, err := url.Parse(v); err == nil && u.Host != "" {
				server := url.URL{Scheme: u.Scheme, Host: strings.ToLower(u.Host)}
				found[server.String()] = true
			}
		case map[string]any:
			for _, inner := range v {
				add(inner)
			}
		case []any:
			for _, inner := range v {
				add(inner)
			}
		}
	}
	add(value)
	return found
}
