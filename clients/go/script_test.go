package onceguard

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// said is one call that the scripted service has got.
type said struct {
	path, connection, token string
	object                  map[string]any
	body                    string
}

// script is a decision service that answers as a test says.
type script struct {
	*httptest.Server
	mutex sync.Mutex
	calls []said
}

type reaction func(w http.ResponseWriter, call said, number int)

func scripted(t *testing.T, react reaction) *script {
	t.Helper()
	out := &script{}
	out.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		whole, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("half a call: %v", err)
		}
		if r.Header.Get("Content-Type") != framed || r.Header.Get("Accept") != framed {
			t.Errorf("not framed: %v", r.Header)
		}
		text, body, _ := bytes.Cut(whole, []byte{'\n'})
		call := said{path: strings.TrimPrefix(r.URL.Path, "/v1/operations"), connection: r.RemoteAddr,
			token: r.Header.Get("Authorization"), body: string(body)}
		if err := json.Unmarshal(text, &call.object); err != nil {
			t.Errorf("no JSON: %s", text)
		}
		out.mutex.Lock()
		number := len(out.calls)
		out.calls = append(out.calls, call)
		out.mutex.Unlock()
		react(w, call, number)
	}))
	t.Cleanup(out.Close)
	return out
}

func (s *script) seen() []said {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]said{}, s.calls...)
}

func (s *script) paths() string {
	var out []string
	for _, call := range s.seen() {
		out = append(out, call.path)
	}
	return strings.Join(out, " ")
}

func (s *script) client(t *testing.T, options ...Option) *Client {
	t.Helper()
	quiet := Report(func(err error) { t.Log("reported: ", err) })
	made, err := New(s.URL, append([]Option{quiet}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Close)
	return made
}

func say(w http.ResponseWriter, object string, body ...string) {
	w.Header().Set("Content-Type", framed)
	_, _ = io.WriteString(w, object+"\n"+strings.Join(body, ""))
}

// lose ends the connection without an answer.
func lose(t *testing.T, w http.ResponseWriter) {
	t.Helper()
	connection, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		t.Fatal(err)
	}
	connection.Close()
}

const run = `{"verdict":"run","operation":"op1","lease":"L","token":7,"attempt":1,"lease_ms":30000,` +
	`"headers":[["Onceguard-Token","7"]],"answer_limit":100,"of_a_later_version":{"x":[1]}}`
const settled = `{"outcome":"settled","of_a_later_version":true}`

// usual runs and settles everything.
func usual(w http.ResponseWriter, call said, _ int) {
	if call.path == "" {
		say(w, run)
	} else {
		say(w, settled)
	}
}

// guarded serves the handler behind the client's middleware, in a real server.
func guarded(t *testing.T, client *Client, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	out := httptest.NewServer(client.Middleware(handler))
	out.Config.ErrorLog = nil
	t.Cleanup(out.Close)
	return out
}

type got struct {
	status int
	header http.Header
	body   string
}

func post(t *testing.T, url, body string, fields ...string) got {
	t.Helper()
	request, err := http.NewRequest("POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(fields); i += 2 {
		request.Header.Add(fields[i], fields[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return got{response.StatusCode, response.Header, string(text)}
}

func charge(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(append([]byte("charged "), body...))
}

func want(t *testing.T, what string, is, expected any) {
	t.Helper()
	if is != expected {
		t.Errorf("%s: %v, expected %v", what, is, expected)
	}
}
