package onceguard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"
)

var payment = Operation{Scope: "customer-7", Key: "order-17", Fingerprint: []byte("1000\xff"), Policy: "payments", Wait: time.Second}

func TestDoRunsAndReplays(t *testing.T) {
	service := scripted(t, func(w http.ResponseWriter, call said, number int) {
		if number == 2 {
			say(w, `{"verdict":"replay","kept":"full","answer":{"status":201,"headers":[["A","b"]]}}`, "done")
			return
		}
		usual(w, call, number)
	})
	client := service.client(t)
	runs := 0
	work := func(ctx context.Context, running *Running) (Answer, error) {
		runs++
		inner, there := FromContext(ctx)
		want(t, "context", there && inner == running && running.Lease == "L", true)
		return Answer{Status: 201, Body: []byte("done")}, nil
	}
	for _, replayed := range []bool{false, true} {
		answer, err := client.Do(context.Background(), payment, work)
		want(t, "answer", fmt.Sprint(answer.Status, string(answer.Body), answer.Replayed, err), fmt.Sprint(201, "done", replayed, nil))
	}
	want(t, "runs", runs, 1)
	claim := service.seen()[0].object
	delete(claim, "claim")
	want(t, "claim", fmt.Sprint(claim), "map[fingerprint_base64:MTAwMP8= key:order-17 policy:payments scope:customer-7 wait_ms:1000]")
	want(t, "complete", fmt.Sprint(service.seen()[1].object, service.seen()[1].body), "map[answer:map[headers:[] status:201]]done")
}

func TestDoRefuses(t *testing.T) {
	for verdict, kind := range map[string]string{"busy": "busy", "mismatch": "mismatch", "unknown": "unknown", "backoff": "backoff",
		"refused": "refused", "store_failed": "store_failed", "of_a_later_version": "unknown"} {
		service := scripted(t, func(w http.ResponseWriter, _ said, _ int) {
			say(w, `{"verdict":"`+verdict+`","retry_after_ms":1500,"retryable":true,"detail":"why"}`)
		})
		_, err := service.client(t).Do(context.Background(), payment, func(context.Context, *Running) (Answer, error) {
			t.Error("ran")
			return Answer{}, nil
		})
		var refusal *Refusal
		if !errors.As(err, &refusal) || refusal.Kind != kind {
			t.Errorf("%s: %v", verdict, err)
		} else if kind == verdict {
			want(t, verdict, fmt.Sprint(refusal.RetryAfter, refusal.Retryable, refusal.Detail), "1.5s truewhy")
		}
	}
}

func TestDoSettlesWhatTheWorkSays(t *testing.T) {
	bug := errors.New("a bug")
	for kind, why := range map[string]error{"release": fmt.Errorf("%w: no money", ErrNotDone), "fail": ErrTryLater, "exception": bug} {
		service := scripted(t, usual)
		_, err := service.client(t).Do(context.Background(), payment, func(context.Context, *Running) (Answer, error) { return Answer{}, why })
		want(t, kind, err, why)
		want(t, kind, service.paths(), " /op1/"+kind)
	}
	service := scripted(t, usual)
	func() {
		defer func() { want(t, "panic", recover(), bug) }()
		_, _ = service.client(t).Do(context.Background(), payment, func(context.Context, *Running) (Answer, error) { panic(bug) })
	}()
	want(t, "panic", service.paths(), " /op1/exception")
}

func TestDoNeverGivesItsOwnAnswerWhereAnotherCounts(t *testing.T) {
	for outcome, expected := range map[string]string{
		`{"outcome":"replay","kept":"full","answer":{"status":200,"headers":[]}}`: "theirs <nil>",
		`{"outcome":"superseded"}`:                  " onceguard: superseded: ",
		`{"outcome":"unrecorded","retryable":true}`: " onceguard: unrecorded: ",
		`{"outcome":"of_a_later_version"}`:          " onceguard: unknown: the service said of_a_later_version",
	} {
		service := scripted(t, func(w http.ResponseWriter, call said, number int) {
			if number == 0 {
				usual(w, call, number)
			} else {
				say(w, outcome, "theirs")
			}
		})
		answer, err := service.client(t).Do(context.Background(), payment, func(context.Context, *Running) (Answer, error) {
			return Answer{Body: []byte("mine")}, nil
		})
		want(t, outcome, fmt.Sprint(string(answer.Body), " ", err), expected)
	}
}

func TestDoWithoutAService(t *testing.T) {
	service := scripted(t, usual)
	closed, open := service.client(t), service.client(t, Open())
	service.Close()
	work := func(context.Context, *Running) (Answer, error) { return Answer{Body: []byte("mine")}, nil }
	_, err := closed.Do(context.Background(), payment, work)
	var refusal *Refusal
	var network *net.OpError
	if !errors.As(err, &refusal) || refusal.Kind != "away" || !refusal.Retryable || !errors.As(err, &network) {
		t.Error(err)
	}
	answer, err := open.Do(context.Background(), payment, work)
	want(t, "open", fmt.Sprint(string(answer.Body), err), "mine<nil>")
}

func TestDoOfACallerWhoHasLeft(t *testing.T) {
	ctx, leave := context.WithCancel(context.Background())
	service := scripted(t, func(w http.ResponseWriter, call said, number int) {
		usual(w, call, number)
	})
	work := func(inner context.Context, _ *Running) (Answer, error) {
		leave()
		return Answer{Body: []byte("mine")}, inner.Err()
	}
	answer, err := service.client(t).Do(ctx, payment, work)
	want(t, "work that began goes on", fmt.Sprint(string(answer.Body), err), "mine<nil>")
	if _, err = service.client(t).Do(ctx, payment, work); err == nil {
		t.Error("ran for nobody")
	}
	want(t, "calls", service.paths(), " /op1/complete")
}

func TestAddresses(t *testing.T) {
	for _, address := range []string{"", "unix:", "unix://host/x", "ftp://host:1", "http://", "http://h:1/path", "http://u@h:1", "http://h:1?x", "/run/x", "http://h:%"} {
		if _, err := New(address); err == nil {
			t.Errorf("%q was taken", address)
		}
	}
	for _, address := range []string{"unix:/run/onceguard.sock", "http://127.0.0.1:8082", "https://once.example:8443"} {
		if _, err := New(address); err != nil {
			t.Error(err)
		}
	}
}

func TestAUnixSocket(t *testing.T) {
	path := t.TempDir() + "/s"
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		say(w, `{"verdict":"replay","kept":"status","answer":{"status":204,"headers":[]}}`)
	})}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	client, err := New("unix:" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	answer, err := client.Do(context.Background(), payment, nil)
	want(t, "answer", fmt.Sprint(answer.Status, answer.Kept, err), "204status<nil>")
}
