package onceguard

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
)

var errGuarded = errors.New("onceguard: the connection of a guarded request can't be taken over")
var errLost = errors.New("onceguard: another answer counts")

// Middleware guards a handler by the routes of the service's file: a request with a key runs once,
// and every repeat gets the first answer. Safe methods pass.
func (c *Client) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name := range r.Header {
			if strings.HasPrefix(strings.ToLower(name), "onceguard-") {
				delete(r.Header, name)
			}
		}
		switch r.Method {
		case "GET", "HEAD", "OPTIONS", "TRACE", "CONNECT", "QUERY":
			next.ServeHTTP(w, r)
		default:
			c.serve(w, r, next)
		}
	})
}

func (c *Client) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	rest := r.Body
	body, err := io.ReadAll(io.LimitReader(rest, c.maxBody+1))
	if err != nil { // half a request: nothing is claimed
		problem(w, http.StatusBadRequest, "bad-request", "The body did not arrive as a whole. Nothing was run.")
		return
	}
	var refused *refusedError
	asked := arrival(r)
	r.Body = io.NopCloser(bytes.NewReader(body))
	if asked.Omitted = int64(len(body)) > c.maxBody; asked.Omitted { // it passes, or is refused
		r.Body, body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(body), rest), rest}, nil
	} else {
		r.ContentLength, r.TransferEncoding = int64(len(body)), nil
	}
	// A client that leaves changes nothing from here on: its work goes on and is settled.
	got, running, err := c.claim(detached{r.Context()}, claimCall{Request: asked, Service: c.service}, body)
	for name, values := range header(got.Headers) {
		r.Header[name] = values
	}
	if err != nil {
		c.report(err)
	}
	switch answered := errors.As(err, &refused); {
	case answered && refused.status != http.StatusUnauthorized && refused.status != http.StatusNotFound:
		fields := http.Header{"Content-Type": {"application/problem+json"}}
		if refused.retryAfter != "" {
			fields.Set("Retry-After", refused.retryAfter)
		}
		Answer{Status: refused.status, Header: fields, Body: refused.text}.send(w)
	case err != nil && (answered || !c.open):
		problem(w, http.StatusServiceUnavailable, "store-unreachable", "Nothing was run. Send the same request again.")
	case err != nil:
		r.Header.Set("Onceguard-Unguarded", "service")
		next.ServeHTTP(w, r)
	case running != nil:
		running.serve(w, r, next, got.Verdict == "observe")
	case got.Verdict == "pass" || got.Verdict == "unguarded":
		next.ServeHTTP(w, r)
	default:
		got.send(w)
	}
}

func arrival(r *http.Request) *arrived {
	all := r.Header.Clone()
	all.Set("Host", r.Host)
	out := &arrived{Method: r.Method, Target: wide(r.RequestURI), Headers: pairs(all)}
	if !strings.HasPrefix(r.RequestURI, "/") { // with scheme and host, or made by a test
		out.Target = r.URL.RequestURI()
	}
	out.Address, _, _ = net.SplitHostPort(r.RemoteAddr) // none on a Unix socket
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		digest := sha256.Sum256(r.TLS.PeerCertificates[0].Raw)
		out.Certificate = hex.EncodeToString(digest[:])
	}
	return out
}

func problem(w http.ResponseWriter, status int, kind, detail string) {
	object := map[string]any{"type": "urn:onceguard:problem:" + kind, "title": http.StatusText(status), "status": status,
		"detail": detail, "retryable": status == http.StatusServiceUnavailable}
	text, _ := json.Marshal(object) // strings and a number: never an error
	header := http.Header{"Content-Type": {"application/problem+json"}}
	if status == http.StatusServiceUnavailable {
		header.Set("Retry-After", "1")
	}
	Answer{Status: status, Header: header, Body: text}.send(w)
}

// send gives the client what the service said; what says nothing is an unknown outcome.
func (r result) send(w http.ResponseWriter) {
	if r.Reply == nil || r.Reply.Status < 200 {
		problem(w, http.StatusConflict, "outcome-unknown", "An earlier attempt may have taken effect.")
		return
	}
	w.Header()["Content-Type"] = nil // net/http must not guess one
	r.answer(r.Reply).send(w)
}

// send keeps what outer middlewares have set, but for fields of the answer.
func (a Answer) send(w http.ResponseWriter) {
	for name, values := range a.Header {
		if name != "Connection" && name != "Transfer-Encoding" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // a client that has left gets its answer at the next try
}

func (r *Running) serve(w http.ResponseWriter, request *http.Request, next http.Handler, observed bool) {
	held := &captured{Running: r, to: w, before: w.Header().Clone(), header: w.Header().Clone(), told: observed}
	defer r.unless(&held.ended)
	next.ServeHTTP(held, request.WithContext(context.WithValue(detached{request.Context()}, runningKey{}, r)))
	held.ended = true
	held.WriteHeader(http.StatusOK)
	if observed {
		if _, err := r.complete(held.own(), true); err != nil {
			r.client.report(err)
		}
	} else if !held.told {
		held.tell(false)
	}
}

// captured is the answer of a guarded handler, held until the service knows of it.
type captured struct {
	*Running
	to             http.ResponseWriter
	before, header http.Header
	status         int
	frozen         http.Header // the fields as WriteHeader found them
	body           bytes.Buffer
	told, lost     bool // lost: the client gets another answer
	ended          bool // a stream has, for its record, when it begins
}

func (h *captured) Header() http.Header { return h.header }

func (h *captured) WriteHeader(status int) {
	if h.frozen != nil || status < 200 {
		return
	}
	h.status, h.frozen = status, h.header.Clone()
	if h.told {
		h.pass(h.own())
	}
}

func (h *captured) Write(part []byte) (int, error) {
	h.WriteHeader(http.StatusOK)
	if h.told && h.lost {
		return 0, errLost
	} else if h.told {
		return h.to.Write(part)
	}
	h.body.Write(part)
	if h.body.Len() > h.limit {
		h.tell(true)
	}
	return len(part), nil
}

// Flush begins a stream: its status is recorded now, and the rest goes out as it comes.
func (h *captured) Flush() {
	h.WriteHeader(http.StatusOK)
	if !h.told {
		h.tell(true)
	}
	if flusher, can := h.to.(http.Flusher); can && !h.lost {
		flusher.Flush()
	}
}

// Hijack is refused: what is said on a raw connection can't be recorded.
func (h *captured) Hijack() (net.Conn, *bufio.ReadWriter, error) { return nil, nil, errGuarded }

// CloseNotify never tells: the work goes on when its client has left.
func (h *captured) CloseNotify() <-chan bool { return make(chan bool) }

// own is the answer without what outer middlewares had set.
func (h *captured) own() Answer {
	_, typed := h.frozen["Content-Type"]
	if !typed && h.body.Len() > 0 && h.frozen.Get("Content-Encoding") == "" {
		h.frozen.Set("Content-Type", http.DetectContentType(h.body.Bytes())) // as net/http would
	}
	out := Answer{Status: h.status, Header: http.Header{}, Body: h.body.Bytes()}
	for name, values := range h.frozen {
		before, there := h.before[name]
		if !strings.HasPrefix(name, http.TrailerPrefix) && !(there && reflect.DeepEqual(values, before)) {
			out.Header[name] = values
		}
	}
	return out
}

// pass sends the handler's own answer.
func (h *captured) pass(own Answer) {
	for name := range h.before {
		if _, kept := h.frozen[name]; !kept {
			h.to.Header().Del(name)
		}
	}
	delete(own.Header, "Onceguard-Outcome")
	own.send(h.to)
}

// tell tells the service, and then the client what counts.
func (h *captured) tell(streamed bool) {
	h.told, h.ended = true, true
	own := h.own()
	out, err := h.complete(own, streamed)
	switch h.lost = true; {
	case err != nil:
		h.client.report(err)
		problem(h.to, http.StatusServiceUnavailable, "store-unreachable", "Send the same request again.")
	case out.Outcome == "settled" && out.Reply == nil:
		h.lost = false
		h.pass(own)
	default:
		out.send(h.to)
	}
}
