package onceguard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

const framed = "application/vnd.onceguard.framed"

type claimCall struct {
	*Operation
	Request *arrived `json:"request,omitempty"`
	Service string   `json:"service,omitempty"`
	Claim   string   `json:"claim"`
	WaitMS  int64    `json:"wait_ms,omitempty"`
}

type arrived struct {
	Method      string      `json:"method"`
	Target      string      `json:"target"`
	Headers     [][2]string `json:"headers"`
	Address     string      `json:"client_address,omitempty"`
	Certificate string      `json:"client_certificate,omitempty"`
	Omitted     bool        `json:"body_omitted,omitempty"`
}

type settleCall struct {
	Answer   *wireAnswer `json:"answer,omitempty"`
	Streamed bool        `json:"streamed,omitempty"`
}

type wireAnswer struct {
	Status  int         `json:"status"`
	Headers [][2]string `json:"headers"`
}

// result is what the service says to a claim or a settle.
type result struct {
	Verdict, Outcome, Operation, Lease, Kept, Detail string
	Token, Attempt                                   json.Number
	AnswerLimit                                      *int `json:"answer_limit"`
	RetryAfterMS                                     int  `json:"retry_after_ms"`
	LeaseMS                                          int  `json:"lease_ms"`
	Retryable                                        bool
	Headers                                          [][2]string
	Reply, Answer                                    *wireAnswer
	body                                             []byte
}

// refusedError is a status of the service that is not 200.
type refusedError struct {
	status     int
	retryAfter string
	text       []byte
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("the service answered %d: %s", e.status, e.text)
}

// call sends one framed message and reads the answer.
func (c *Client) call(ctx context.Context, on *line, path string, object any, body []byte) (out result, err error) {
	text, err := json.Marshal(object)
	if err != nil {
		return out, err
	}
	request, err := http.NewRequestWithContext(ctx, "POST", c.base+path, bytes.NewReader(append(append(text, '\n'), body...)))
	if err != nil {
		return out, err
	}
	// A call may be sent again, and this tells net/http so: a kept connection may have ended.
	request.Header = http.Header{"Content-Type": {framed}, "Accept": {framed}, "X-Idempotency-Key": nil}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := on.RoundTrip(request)
	if err != nil {
		return out, err
	}
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = &refusedError{response.StatusCode, response.Header.Get("Retry-After"), text}
	}
	if err != nil {
		return out, err
	}
	text, out.body, _ = bytes.Cut(text, []byte{'\n'})
	if err = json.Unmarshal(text, &out); err != nil {
		return out, fmt.Errorf("no answer of the protocol: %w", err)
	}
	return out, nil
}

// Answer is what an operation came to; Kept says what of an earlier attempt's answer is left:
// "full", "status" (no body) or "none".
type Answer struct {
	Status   int // 0 is 200
	Header   http.Header
	Body     []byte
	Replayed bool
	Kept     string
}

func (r result) answer(found *wireAnswer) Answer {
	return Answer{found.Status, header(found.Headers), r.body, true, r.Kept}
}

// pairs have strings whose characters are bytes, and so JSON holds any field.
func pairs(of http.Header) [][2]string {
	out := [][2]string{}
	for name, values := range of {
		for _, value := range values {
			out = append(out, [2]string{wide(name), wide(value)})
		}
	}
	return out
}

func header(of [][2]string) http.Header {
	out := http.Header{}
	for _, pair := range of {
		value := make([]byte, 0, len(pair[1]))
		for _, character := range pair[1] {
			value = append(value, byte(character))
		}
		out.Add(pair[0], string(value))
	}
	return out
}

func wide(text string) string {
	out := make([]rune, len(text))
	for i := range out {
		out[i] = rune(text[i])
	}
	return string(out)
}
