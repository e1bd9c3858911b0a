package httprequest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	leastKey = 24 // bytes
	mostKey  = 4 << 10
	keyMark  = "whsec_"
)

// ParseSigningKey parses a key for Config.SigningKey: "whsec_" and base64, as services that receive webhooks write it, or any other text of at
// least 24 bytes, which is the key itself. Surrounding space is ignored. Errors do not show the key.
func ParseSigningKey(text string) ([]byte, error) {
	text = strings.TrimSpace(text)
	key := []byte(text)
	if encoded, marked := strings.CutPrefix(text, keyMark); marked {
		var err error
		if key, err = base64.StdEncoding.DecodeString(encoded); err != nil {
			return nil, errors.New("the key begins with whsec_, and what follows is not base64")
		}
	}
	if len(key) < leastKey || len(key) > mostKey {
		return nil, fmt.Errorf("the key has %d bytes: give from %d to %d", len(key), leastKey, mostKey)
	}
	return key, nil
}

// sign signs a request that is made at the time at.
func sign(request *http.Request, key []byte, id string, at time.Time, body []byte) {
	stamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + stamp + "."))
	mac.Write(body)
	request.Header.Set("Webhook-Id", id)
	request.Header.Set("Webhook-Timestamp", stamp)
	request.Header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}
