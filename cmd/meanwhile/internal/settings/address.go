package settings

import (
	"fmt"
	"net"
)

// Address checks an address to listen on, and returns its host, which may be empty. Its errors show the example.
func Address(text, example string) (host string, err error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil || port == "" {
		return "", fmt.Errorf("%.100q is not an address such as %s", text, example)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return "", fmt.Errorf("%.100q has no port: give a number up to 65535", text)
	}
	return host, nil
}
