package conformance

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// What the SDK has no call for goes over plain HTTP, signed with the same key.

// answer is a response whose body has been read.
type answer struct {
	status  int
	headers http.Header
	body    []byte
}

// value is the body as JSON.
func (a answer) value(t testing.TB) any {
	t.Helper()
	var value any
	if err := json.Unmarshal(a.body, &value); err != nil {
		t.Fatalf("not JSON: %v: %q", err, a.body)
	}
	return value
}

func (a answer) expect(t testing.TB, status int, texts ...string) answer {
	t.Helper()
	if a.status != status {
		t.Fatalf("status %d instead of %d: %s", a.status, status, a.body)
	}
	for _, text := range texts {
		if !strings.Contains(string(a.body), text) {
			t.Fatalf("%q is missing in %s", text, a.body)
		}
	}
	return a
}

// signature is what the service expects of a key: a hash over verb, kind, link and date.
func signature(t testing.TB, verb, kind, link, date string) string {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(setting(t, "ORRERY_KEY"))
	must(t, err)
	mac := hmac.New(sha256.New, key)
	text := strings.ToLower(verb) + "\n" + kind + "\n" + link + "\n" + strings.ToLower(date) + "\n\n"
	mac.Write([]byte(text))
	sum := base64.StdEncoding.EncodeToString(mac.Sum(nil))
	return url.QueryEscape("type=master&ver=1.0&sig=" + sum)
}

// send makes one request. A path with an even number of parts names a resource, with an odd one a feed.
func send(t testing.TB, verb, path string, headers map[string]string, body any) answer {
	t.Helper()
	parts := strings.Split(path, "/")
	kind, link := parts[len(parts)-1], strings.Join(parts[:len(parts)-1], "/")
	if len(parts)%2 == 0 {
		kind, link = parts[len(parts)-2], path
	}
	payload, isText := body.(string)
	if !isText {
		payload = string(encode(t, body))
	}
	target := strings.TrimSuffix(setting(t, "ORRERY_ENDPOINT"), "/") + "/" + path
	request, err := http.NewRequest(verb, target, bytes.NewReader([]byte(payload)))
	must(t, err)
	date := time.Now().UTC().Format(http.TimeFormat)
	request.Header.Set("x-ms-date", date)
	request.Header.Set("x-ms-version", "2020-07-15")
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", signature(t, verb, kind, link, date))
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := transport.Do(request)
	must(t, err)
	defer response.Body.Close()
	bytes, err := io.ReadAll(response.Body)
	must(t, err)
	return answer{response.StatusCode, response.Header, bytes}
}
