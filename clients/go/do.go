package onceguard

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"regexp"
	"strings"
	"time"
)

var (
	// ErrNotDone, returned or wrapped by work, says that it provably did nothing: its key is free.
	ErrNotDone = errors.New("onceguard: nothing was done")
	// ErrTryLater says the same, and that it may run again after the back-off of its policy.
	ErrTryLater = errors.New("onceguard: try again later")
)

// Operation names what may arrive more than once.
type Operation struct {
	Scope       string `json:"scope"`                // the owner of the key
	ScopeKind   string `json:"scope_kind,omitempty"` // "application" without it
	Key         string `json:"key"`                  // 1 to 255 bytes
	Fingerprint []byte `json:"fingerprint_base64"`   // what makes two operations the same; its SHA-256 is kept
	// Policy: the name of a [[policy]] of the service, or a map of the options that it allows inline.
	Policy any           `json:"policy,omitempty"`
	Wait   time.Duration `json:"-"` // for a running twin; 0: as the policy says
}

// Running is what work knows of its attempt. Lease is for onceguard.complete(lease, …) in a
// PostgreSQL transaction of its own. Token grows with each attempt: a database that keeps the
// highest one can refuse earlier attempts.
type Running struct {
	Operation, Lease, Token, Attempt string
	client                           *Client
	on                               *line
	limit                            int
	done                             chan struct{}
}

type runningKey struct{}

// FromContext gives what the guarded work that has this context knows of its attempt.
func FromContext(ctx context.Context) (*Running, bool) {
	running, there := ctx.Value(runningKey{}).(*Running)
	return running, there
}

// detached is a context for what goes on when its caller has left.
type detached struct{ context.Context }

func (detached) Deadline() (time.Time, bool) { return time.Time{}, false }
func (detached) Done() <-chan struct{}       { return nil }
func (detached) Err() error                  { return nil }

// Refusal says why an operation did not run, or that its outcome can't be told.
type Refusal struct {
	// Kind is a verdict (busy, backoff, mismatch, unknown, refused, store_failed, overloaded), or
	// superseded, unrecorded, or away: the service is.
	Kind, Detail string
	RetryAfter   time.Duration
	Retryable    bool // by the same operation again
	cause        error
}

func (r *Refusal) Error() string { return "onceguard: " + r.Kind + ": " + r.Detail }

// Unwrap gives the error of the work or of the connection.
func (r *Refusal) Unwrap() error { return r.cause }

var kinds = regexp.MustCompile("^(busy|backoff|mismatch|unknown|refused|store_failed|overloaded|superseded|unrecorded)$")

func (r result) refusal(kind string) *Refusal {
	if !kinds.MatchString(kind) {
		return &Refusal{Kind: "unknown", Detail: "the service said " + kind}
	}
	return &Refusal{kind, r.Detail, time.Duration(r.RetryAfterMS) * time.Millisecond, r.Retryable, nil}
}

// succession is how long new connections are tried for the successor of a process that drains.
const succession = time.Second

func isDraining(err error) bool {
	var refused *refusedError
	var problem struct{ Type string }
	return errors.As(err, &refused) && json.Unmarshal(refused.text, &problem) == nil &&
		strings.HasSuffix(problem.Type, "draining")
}

// persist repeats a call while `again` says so and the time lasts.
func (c *Client) persist(ctx context.Context, on *line, path string, object any, body []byte, again func(error) bool) (result, error) {
	for pause := 50 * time.Millisecond; ; {
		out, err := c.call(ctx, on, path, object, body)
		if isDraining(err) { // nothing was claimed, and new connections find the successor
			on.CloseIdleConnections()
			out, err = c.call(ctx, on, path, object, body)
		}
		if err == nil || !again(err) {
			return out, err
		}
		select {
		case <-ctx.Done():
			return out, err
		case <-time.After(pause):
		}
		if pause *= 2; pause > time.Second {
			pause = time.Second
		}
	}
}

const notInTime = `{"type":"urn:onceguard:problem:overloaded","title":"No capacity at the moment","status":503,"detail":"The lease ended before the work could begin. Nothing was run.","retryable":true}`

// late is how often a process may stand still for longer than its lease, one time after the other.
const late = 3

// within tells whether a lease that was asked for then is surely there still. The monotonic clock
// stands still while a machine is suspended, the other may be put back.
func within(asked time.Time, lease time.Duration) bool {
	now := time.Now()
	return now.Sub(asked) <= lease*2/3 && now.Round(0).Sub(asked.Round(0)) <= lease*2/3
}

// claim asks until the work may surely begin: this process may have stood still since it asked, and
// another may have run the work after its lease.
func (c *Client) claim(ctx context.Context, call claimCall, body []byte) (result, *Running, error) {
	for times := 0; times < late; times++ {
		asked := time.Now()
		got, running, err := c.ask(ctx, call, body)
		lease := time.Duration(got.LeaseMS) * time.Millisecond
		if running == nil || lease == 0 || within(asked, lease) || running.begins(lease) {
			return got, running, err
		}
	}
	return result{}, nil, &refusedError{http.StatusServiceUnavailable, "1", []byte(notInTime)} // not for open: the service is there
}

// begins renews the lease, and gives the operation back where that does not come to pass in time.
func (r *Running) begins(lease time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), r.client.patience)
	defer cancel()
	asked := time.Now()
	out, err := r.renew(ctx, func(error) bool { return false })
	if err == nil && out.Outcome == "renewed" && within(asked, lease) {
		return true
	}
	if _, err = r.settle("release", settleCall{}, nil); err != nil {
		r.client.report(err)
	}
	return false
}

func (r *Running) renew(ctx context.Context, again func(error) bool) (result, error) {
	return r.client.persist(ctx, r.on, "/v1/operations/"+r.Operation+"/renew", settleCall{}, nil, again)
}

// refusedCertificate: the service refuses the certificate that it was shown, or the lack of one (RFC 8446,
// 6.2). It has read nothing then.
var refusedCertificate = regexp.MustCompile("remote error: tls: .*(certificate|access denied|error decrypting)")

// ask repeats what is in doubt with the same id. What runs keeps the connection.
func (c *Client) ask(ctx context.Context, call claimCall, body []byte) (result, *Running, error) {
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		return result{}, nil, err
	}
	call.Claim = hex.EncodeToString(id[:])
	wait := c.wait
	if call.WaitMS > 0 {
		wait = time.Duration(call.WaitMS) * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout+wait)
	defer cancel()
	on, doubt, began := c.take(), false, time.Now()
	connected := false // before, nothing was sent
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }})
	got, err := c.persist(ctx, on, "/v1/operations", call, body, func(err error) bool {
		var refused *refusedError
		if errors.As(err, &refused) {
			return isDraining(err) && time.Since(began) < succession
		}
		doubt = doubt || (connected && !refusedCertificate.MatchString(err.Error()))
		connected = false
		return doubt
	})
	if isDraining(err) {
		err = fmt.Errorf("the service is away: %v", err)
	}
	if err != nil || (got.Verdict != "run" && got.Verdict != "observe") {
		c.give(on)
		return got, nil, err
	}
	running := &Running{got.Operation, got.Lease, got.Token.String(), got.Attempt.String(), c, on, 1 << 20, make(chan struct{})}
	if got.AnswerLimit != nil {
		running.limit = *got.AnswerLimit
	}
	go running.keep()
	return got, running, nil
}

// keep renews the lease on a new connection when its own has ended amid the work: the service was
// started again.
func (r *Running) keep() {
	for {
		select {
		case <-r.done:
			return
		case <-r.on.now.Load().(*watched).ended:
		}
		ctx, cancel := context.WithTimeout(context.Background(), r.client.patience)
		var refused *refusedError
		_, err := r.renew(ctx, func(err error) bool {
			select {
			case <-r.done:
				return false
			default:
				return !errors.As(err, &refused)
			}
		})
		cancel()
		if err != nil {
			r.client.report(fmt.Errorf("the lease was not renewed: %w", err))
		}
		if refused != nil {
			return
		}
	}
}

func (r *Running) settle(kind string, call settleCall, body []byte) (result, error) {
	close(r.done)
	defer r.client.give(r.on)
	ctx, cancel := context.WithTimeout(context.Background(), r.client.patience+5*time.Second)
	defer cancel()
	until := time.Now().Add(r.client.patience)
	return r.client.persist(ctx, r.on, "/v1/operations/"+r.Operation+"/"+kind, call, body, func(err error) bool {
		var refused *refusedError
		return (!errors.As(err, &refused) || refused.status >= 500) && time.Now().Before(until)
	})
}

func (r *Running) complete(answer Answer, streamed bool) (result, error) {
	if answer.Status == 0 {
		answer.Status = http.StatusOK
	}
	if streamed {
		answer.Body = nil
	}
	return r.settle("complete", settleCall{&wireAnswer{answer.Status, pairs(answer.Header)}, streamed}, answer.Body)
}

// failed settles work that ended with an error or a panic.
func (r *Running) failed(why any) (result, error) {
	kind := "exception"
	if err, is := why.(error); is && errors.Is(err, ErrTryLater) {
		kind = "fail"
	} else if is && errors.Is(err, ErrNotDone) {
		kind = "release"
	}
	return r.settle(kind, settleCall{}, nil)
}

// unless is deferred: work that did not end has panicked.
func (r *Running) unless(ended *bool) {
	if *ended {
		return
	}
	why := recover()
	if _, err := r.failed(why); err != nil {
		r.client.report(err)
	}
	if why != nil {
		panic(why)
	}
}

// Do runs the work unless the operation took effect before, and gives the first answer at each
// repeat. When it did not run, the error is a *Refusal. Work that began goes on when ctx ends.
func (c *Client) Do(ctx context.Context, operation Operation, work func(context.Context, *Running) (Answer, error)) (Answer, error) {
	operation.Fingerprint = append([]byte{}, operation.Fingerprint...) // never null
	got, running, err := c.claim(ctx, claimCall{Operation: &operation, WaitMS: operation.Wait.Milliseconds()}, nil)
	var refused *refusedError
	switch {
	case err != nil && c.open && ctx.Err() == nil && !errors.As(err, &refused):
		c.report(fmt.Errorf("unguarded: %w", err))
		return work(detached{ctx}, &Running{})
	case err != nil:
		return Answer{}, &Refusal{"away", err.Error(), time.Second, true, err}
	case running != nil:
		return running.do(ctx, work)
	case got.Verdict == "pass" || got.Verdict == "unguarded":
		return work(detached{ctx}, &Running{})
	case got.Verdict == "replay" && got.Answer != nil:
		return got.answer(got.Answer), nil
	}
	return Answer{}, got.refusal(got.Verdict)
}

func (r *Running) do(ctx context.Context, work func(context.Context, *Running) (Answer, error)) (Answer, error) {
	ended := false
	defer r.unless(&ended)
	answer, failed := Answer{}, ctx.Err()
	if failed == nil {
		answer, failed = work(context.WithValue(detached{ctx}, runningKey{}, r), r)
	} else { // nobody waits for it, and nothing began
		failed = fmt.Errorf("%w: %v", ErrNotDone, failed)
	}
	ended = true
	var out result
	var err error
	if failed != nil {
		out, err = r.failed(failed)
	} else {
		out, err = r.complete(answer, len(answer.Body) > r.limit)
	}
	switch {
	case err != nil:
		return Answer{}, &Refusal{"unrecorded", err.Error(), time.Second, true, failed}
	case out.Outcome == "replay" && out.Answer != nil:
		return out.answer(out.Answer), nil
	case failed != nil || out.Outcome == "settled":
		return answer, failed
	}
	return Answer{}, out.refusal(out.Outcome)
}
