// Package conformance is the service that `onceguard conformance` asks, for the tests of the
// examples: docs/conformance.md describes it.
package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"onceguard"
)

type work struct {
	Delay, Status int
	Fields        [][2]string
	Size          *int
	Bytes, Break  bool
}

type service struct {
	mutex sync.Mutex
	runs  map[string]int
}

var only = &service{runs: map[string]int{}}

// Service counts its work, and does what the kit says.
func Service() http.Handler { return only }

// Options of the client, by the environment: ONCEGUARD_TOKEN, ONCEGUARD_OPEN, ONCEGUARD_CLIENT_SERVICE.
func Options() []onceguard.Option {
	options := []onceguard.Option{onceguard.Token(os.Getenv("ONCEGUARD_TOKEN"))}
	if os.Getenv("ONCEGUARD_OPEN") != "" {
		options = append(options, onceguard.Open())
	}
	if name := os.Getenv("ONCEGUARD_CLIENT_SERVICE"); name != "" {
		options = append(options, onceguard.Service(name))
	}
	return options
}

// begin counts, and writes the effect to a file that outlives this process.
func (s *service) begin(counter string) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.runs[counter]++
	path := os.Getenv("EFFECTS")
	if path == "" || counter == "" {
		return s.runs[counter], nil
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	_, err = file.WriteString(counter + "\n")
	return s.runs[counter], err
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if counter := strings.TrimPrefix(r.URL.Path, "/conformance/runs/"); r.Method == "GET" && counter != r.URL.Path {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		fmt.Fprintf(w, `{"runs": %d}`, s.runs[counter])
		return
	}
	plan := work{Status: http.StatusCreated}
	if text := r.Header.Get("Conformance-Work"); text != "" {
		if err := json.Unmarshal([]byte(text), &plan); err != nil {
			http.Error(w, "Conformance-Work: "+err.Error(), http.StatusBadRequest)
			return
		}
	}
	run, err := s.begin(r.Header.Get("Conformance-Counter"))
	if err != nil {
		panic(err)
	}
	time.Sleep(time.Duration(plan.Delay) * time.Millisecond)
	if plan.Break {
		panic(http.ErrAbortHandler)
	}
	plan.answer(w, run)
}

func (plan work) answer(w http.ResponseWriter, run int) {
	body, kind := []byte(fmt.Sprintf(`{"run": %d}`, run)), "application/json"
	if plan.Size != nil {
		body = bytes.Repeat([]byte("x"), *plan.Size)
	}
	if plan.Bytes {
		body, kind = make([]byte, 256), "application/octet-stream"
		for i := range body {
			body[i] = byte(i)
		}
	}
	w.Header().Set("Content-Type", kind)
	for _, field := range plan.Fields {
		w.Header().Add(field[0], field[1])
	}
	w.WriteHeader(plan.Status)
	if plan.Status != http.StatusNoContent && plan.Status != http.StatusNotModified {
		_, _ = w.Write(body) // a client that has left hears nothing
	}
}
