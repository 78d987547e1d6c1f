package onceguard

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestRunsAndTellsBeforeItAnswers(t *testing.T) {
	service := scripted(t, usual)
	server := guarded(t, service.client(t, Token("secret"), Service("billing")), func(w http.ResponseWriter, r *http.Request) {
		running, there := FromContext(r.Context())
		if !there || running.Lease != "L" || running.Token != "7" || running.Attempt != "1" {
			t.Errorf("the handler knows %+v", running)
		}
		want(t, "what a client sent", strings.Join(r.Header["Onceguard-Lease"], ","), "")
		want(t, "what the service adds", strings.Join(r.Header["Onceguard-Token"], ","), "7")
		want(t, "length", r.ContentLength, int64(3))
		w.Header().Add("Link", "<b>")
		w.Header().Add("Link", "<a>")
		w.Header().Set("X-Name", "caf\xe9")
		charge(w, r)
	})
	answer := post(t, server.URL+"/pay?a=1&b=%20", "\x00\xffx", "Idempotency-Key", "k", "Onceguard-Token", "9",
		"Onceguard-Lease", "forged", "X-Name", "\xe9", "X-Two", "1", "X-Two", "2")
	want(t, "status", answer.status, 201)
	want(t, "body", answer.body, "charged \x00\xffx")
	want(t, "link", strings.Join(answer.header["Link"], " "), "<b> <a>")
	calls := service.seen()
	want(t, "calls", service.paths(), " /op1/complete")
	want(t, "token", calls[0].token, "Bearer secret")
	want(t, "body of the claim", calls[0].body, "\x00\xffx")
	want(t, "service", calls[0].object["service"], "billing")
	request := calls[0].object["request"].(map[string]any)
	want(t, "target", request["target"], "/pay?a=1&b=%20")
	want(t, "address", request["client_address"], "127.0.0.1")
	fields := fmt.Sprint(request["headers"])
	for _, one := range []string{"[X-Name é]", "[X-Two 1] [X-Two 2]", "[Idempotency-Key k]", "[Host 127.0.0.1:"} {
		if !strings.Contains(fields, one) {
			t.Errorf("%s lacks %s", fields, one)
		}
	}
	if strings.Contains(fields, "Onceguard") {
		t.Errorf("passed on: %s", fields)
	}
	want(t, "kept body", calls[1].body, "charged \x00\xffx")
	kept := fmt.Sprint(calls[1].object["answer"])
	for _, one := range []string{"status:201", "[Link <b>] [Link <a>]", "[X-Name café]", "[Content-Type application/octet-stream]"} {
		if !strings.Contains(kept, one) {
			t.Errorf("%s lacks %s", kept, one)
		}
	}
}

func TestRepliesGoOutAsTheyAre(t *testing.T) {
	for verdict, runs := range map[string]int{"replay": 0, "busy": 0, "mismatch": 0, "of_a_later_version": 0, "pass": 1, "unguarded": 1} {
		service := scripted(t, func(w http.ResponseWriter, _ said, _ int) {
			say(w, `{"verdict":"`+verdict+`","reply":{"status":409,"headers":[["X-A","1"],["X-A","2"]]}}`, "\x01body")
		})
		ran := 0
		server := guarded(t, service.client(t), func(w http.ResponseWriter, r *http.Request) { ran++; charge(w, r) })
		answer := post(t, server.URL, "x")
		want(t, verdict+" runs", ran, runs)
		if runs == 0 {
			want(t, verdict, fmt.Sprint(answer.status, answer.header["X-A"], answer.header["Content-Type"], answer.body), "409 [1 2] []\x01body")
		} else {
			want(t, verdict, answer.body, "charged x")
			want(t, verdict+" settles nothing", service.paths(), "")
		}
	}
}

func TestAVerdictThatIsNotKnownIsUnknown(t *testing.T) {
	service := scripted(t, func(w http.ResponseWriter, _ said, _ int) { say(w, `{"verdict":"of_a_later_version"}`) })
	server := guarded(t, service.client(t), func(http.ResponseWriter, *http.Request) { t.Error("ran") })
	answer := post(t, server.URL, "")
	want(t, "status", answer.status, 409)
	if !strings.Contains(answer.body, `"urn:onceguard:problem:outcome-unknown"`) {
		t.Error(answer.body)
	}
}

func TestAClaimInDoubtIsRepeatedWithItsId(t *testing.T) {
	var lost said
	service := scripted(t, func(w http.ResponseWriter, call said, number int) {
		if number == 0 {
			lost = call
			lose(t, w)
			return
		}
		if number == 1 {
			want(t, "claim", call.object["claim"], lost.object["claim"])
			if call.connection == lost.connection {
				t.Error("the same connection")
			}
		}
		usual(w, call, number)
	})
	server := guarded(t, service.client(t), charge)
	want(t, "answer", post(t, server.URL, "x").body, "charged x")
	want(t, "calls", service.paths(), "  /op1/complete")
}

func TestAServiceThatIsAwayRunsNothing(t *testing.T) {
	service := scripted(t, usual)
	closed, open := service.client(t), service.client(t, Open())
	service.Close()
	began := time.Now()
	server := guarded(t, closed, func(http.ResponseWriter, *http.Request) { t.Error("ran") })
	answer := post(t, server.URL, "x")
	want(t, "status", answer.status, 503)
	want(t, "retry", answer.header.Get("Retry-After"), "1")
	if !strings.Contains(answer.body, "store-unreachable") || time.Since(began) > 2*time.Second {
		t.Error(answer.body, time.Since(began))
	}
	server = guarded(t, open, func(w http.ResponseWriter, r *http.Request) {
		want(t, "mark", r.Header.Get("Onceguard-Unguarded"), "service")
		charge(w, r)
	})
	want(t, "open", post(t, server.URL, "x", "Onceguard-Unguarded", "store").body, "charged x")
}

func TestAClaimThatStaysInDoubtRunsNothing(t *testing.T) {
	service := scripted(t, func(w http.ResponseWriter, _ said, _ int) { lose(t, w) })
	client := service.client(t, Timeout(2*time.Second), Wait(0))
	server := guarded(t, client, func(http.ResponseWriter, *http.Request) { t.Error("ran") })
	want(t, "status", post(t, server.URL, "x").status, 503)
	ids := map[any]bool{}
	for _, call := range service.seen() {
		ids[call.object["claim"]] = true
	}
	want(t, "ids", len(ids), 1)
	if len(service.seen()) < 3 {
		t.Error("tried", len(service.seen()))
	}
}

func TestTheServiceOverloadedOrRefusing(t *testing.T) {
	for status, expected := range map[int]int{503: 503, 413: 413, 400: 400, 401: 503, 404: 503} {
		service := scripted(t, func(w http.ResponseWriter, _ said, _ int) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"type":"urn:onceguard:problem:overloaded"}`)
		})
		server := guarded(t, service.client(t, Open()), func(http.ResponseWriter, *http.Request) { t.Error("ran") })
		answer := post(t, server.URL, "x")
		want(t, "status", answer.status, expected)
		want(t, "calls", len(service.seen()), 1)
		if status == 503 {
			want(t, "retry", answer.header.Get("Retry-After"), "7")
		}
	}
}

const draining = `{"type":"urn:onceguard:problem:draining","detail":"it ends"}`

func TestAClaimGoesOnToTheSuccessorOfAProcessThatDrains(t *testing.T) {
	service := scripted(t, func(w http.ResponseWriter, call said, number int) {
		if number == 2 {
			w.WriteHeader(503)
			_, _ = io.WriteString(w, draining)
			return
		}
		usual(w, call, number)
	})
	server := guarded(t, service.client(t), charge)
	for i := 0; i < 2; i++ {
		want(t, "answer", post(t, server.URL, "x").body, "charged x")
	}
	calls := service.seen()
	want(t, "calls", service.paths(), " /op1/complete   /op1/complete")
	want(t, "claim", calls[3].object["claim"], calls[2].object["claim"])
	want(t, "kept", calls[2].connection, calls[0].connection)
	want(t, "new", calls[3].connection != calls[2].connection, true)
}

func drains(t *testing.T) *script {
	t.Helper()
	return scripted(t, func(w http.ResponseWriter, _ said, _ int) {
		w.WriteHeader(503)
		_, _ = io.WriteString(w, draining)
	})
}

func TestAProcessThatDrainsWithoutASuccessorIsAway(t *testing.T) {
	for tries := 1; ; tries++ {
		service := drains(t)
		began := time.Now()
		server := guarded(t, service.client(t), func(http.ResponseWriter, *http.Request) { t.Error("ran") })
		answer := post(t, server.URL, "x")
		took, calls := time.Since(began), len(service.seen())
		want(t, "status", answer.status, 503)
		if !strings.Contains(answer.body, "store-unreachable") {
			t.Error(answer.body)
		}
		if calls > 2 && took < 4*time.Second {
			break
		}
		// A busy machine lets the time pass in which it is tried, or more of it.
		if took < succession || tries == 3 {
			t.Fatal(took, calls)
		}
	}
	server := guarded(t, drains(t).client(t, Open()), charge)
	want(t, "open", post(t, server.URL, "x").body, "charged x")
}

func TestASettleIsRepeatedUntilItIsKnown(t *testing.T) {
	service := scripted(t, func(w http.ResponseWriter, call said, number int) {
		switch number {
		case 1:
			lose(t, w)
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			usual(w, call, number)
		}
	})
	server := guarded(t, service.client(t), charge)
	want(t, "answer", post(t, server.URL, "x").body, "charged x")
	want(t, "calls", service.paths(), " /op1/complete /op1/complete /op1/complete")
}

func TestAnAnswerThatNobodyRemembersIsHeldBack(t *testing.T) {
	service := scripted(t, func(w http.ResponseWriter, call said, number int) {
		if number == 0 {
			usual(w, call, number)
		} else {
			lose(t, w)
		}
	})
	client := service.client(t)
	client.patience = 200 * time.Millisecond
	server := guarded(t, client, charge)
	answer := post(t, server.URL, "x")
	want(t, "status", answer.status, 503)
	if !strings.Contains(answer.body, "store-unreachable") || strings.Contains(answer.body, "charged") {
		t.Error(answer.body)
	}
}

func TestAnotherAttemptsAnswerCounts(t *testing.T) {
	for _, outcome := range []string{"replay", "superseded", "unrecorded", "of_a_later_version"} {
		service := scripted(t, func(w http.ResponseWriter, call said, number int) {
			if number == 0 {
				usual(w, call, number)
			} else {
				say(w, `{"outcome":"`+outcome+`","reply":{"status":409,"headers":[]}}`, "theirs")
			}
		})
		server := guarded(t, service.client(t), charge)
		answer := post(t, server.URL, "x")
		want(t, outcome, fmt.Sprint(answer.status, answer.body), "409theirs")
	}
}

func TestAConnectionBelongsToItsOperationUntilTheSettle(t *testing.T) {
	// net/http ends a connection instead of keeping it where its own goroutine was held up for 50 ms,
	// as a busy machine may: not each time.
	fault := ""
	for try := 0; try < 5; try++ {
		if fault = connectionsOfOperations(t); fault == "" {
			return
		}
	}
	t.Error(fault)
}

// connectionsOfOperations says what is wrong with the connections of one operation amid another,
// and of one behind both.
func connectionsOfOperations(t *testing.T) string {
	service := scripted(t, usual)
	client := service.client(t)
	server := guarded(t, client, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/outer" {
			post(t, "http://"+r.Host+"/inner", "x")
		}
		charge(w, r)
	})
	post(t, server.URL+"/outer", "x")
	post(t, server.URL+"/later", "x")
	calls := service.seen()
	want(t, "calls", service.paths(), "  /op1/complete /op1/complete  /op1/complete")
	outer, inner := calls[0].connection, calls[1].connection
	if outer == inner {
		t.Error("two leases on one connection")
	}
	if calls[2].connection != inner {
		return "the inner one's settle came on another connection"
	}
	if calls[3].connection != outer {
		return "the outer one's settle came on another connection"
	}
	if later := calls[4].connection; later != inner && later != outer {
		return "a connection was not used again"
	}
	return ""
}

func TestLongAndStreamedAnswersAreRecordedFirst(t *testing.T) {
	for _, flush := range []bool{false, true} {
		var recorded atomic.Bool
		service := scripted(t, func(w http.ResponseWriter, call said, number int) {
			if number == 1 {
				want(t, "streamed", call.object["streamed"], true)
				want(t, "body", call.body, "")
				recorded.Store(true)
			}
			usual(w, call, number)
		})
		server := guarded(t, service.client(t), func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusAccepted)
			for i := 0; i < 30; i++ {
				_, _ = io.WriteString(w, "0123456789")
				if flush {
					w.(http.Flusher).Flush()
				}
				want(t, "recorded", recorded.Load(), flush || i >= 10)
			}
		})
		answer := post(t, server.URL, "x")
		want(t, "answer", fmt.Sprint(answer.status, answer.body), "202"+strings.Repeat("0123456789", 30))
		want(t, "calls", service.paths(), " /op1/complete")
	}
}

func TestAStreamThatWasSupersededSendsNothingOfItsOwn(t *testing.T) {
	service := scripted(t, func(w http.ResponseWriter, call said, number int) {
		if number == 0 {
			usual(w, call, number)
		} else {
			say(w, `{"outcome":"superseded","reply":{"status":409,"headers":[]}}`, "another one")
		}
	})
	server := guarded(t, service.client(t), func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", 200))
		if _, err := io.WriteString(w, "more"); err == nil {
			t.Error("a write that reaches nobody says so")
		}
	})
	answer := post(t, server.URL, "x")
	want(t, "answer", fmt.Sprint(answer.status, answer.body), "409another one")
}

func TestPanicsAreSettledAndGoOn(t *testing.T) {
	for kind, why := range map[string]any{"release": fmt.Errorf("card: %w", ErrNotDone), "fail": ErrTryLater,
		"exception": "a bug", "exception ": http.ErrAbortHandler} {
		service := scripted(t, usual)
		handler := service.client(t).Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(why) }))
		func() {
			defer func() { want(t, kind, fmt.Sprint(recover()), fmt.Sprint(why)) }()
			handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/", strings.NewReader("x")))
		}()
		want(t, kind, service.paths(), " /op1/"+strings.TrimSpace(kind))
	}
}

func TestSafeMethodsPass(t *testing.T) {
	service := scripted(t, usual)
	handler := service.client(t).Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		want(t, "forged", r.Header.Get("Onceguard-Token"), "")
	}))
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "TRACE"} {
		request := httptest.NewRequest(method, "/", nil)
		request.Header.Set("Onceguard-Token", "1")
		handler.ServeHTTP(httptest.NewRecorder(), request)
	}
	want(t, "calls", len(service.seen()), 0)
}

func TestALongBodyPassesOrIsRefused(t *testing.T) {
	for verdict, body := range map[string]string{"pass": "charged more than ten", "refused": "too long"} {
		service := scripted(t, func(w http.ResponseWriter, call said, _ int) {
			want(t, "omitted", call.object["request"].(map[string]any)["body_omitted"], true)
			want(t, "body", call.body, "")
			say(w, `{"verdict":"`+verdict+`","reply":{"status":413,"headers":[]}}`, "too long")
		})
		server := guarded(t, service.client(t, MaxBody(10)), charge)
		want(t, verdict, post(t, server.URL, "more than ten").body, body)
	}
}

func TestHalfABodyClaimsNothing(t *testing.T) {
	service := scripted(t, usual)
	server := guarded(t, service.client(t, MaxBody(10)), func(http.ResponseWriter, *http.Request) { t.Error("ran") })
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(connection, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf")
	_ = connection.(*net.TCPConn).CloseWrite()
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "half", response.StatusCode, 400)
	want(t, "calls", len(service.seen()), 0)
}

func TestAClientThatLeavesCutsNothingOff(t *testing.T) {
	service := scripted(t, usual)
	left, ended := make(chan struct{}), make(chan error, 1)
	handler := service.client(t).Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-left
		ended <- r.Context().Err()
		charge(w, r)
	}))
	ctx, leave := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/", strings.NewReader("x")).WithContext(ctx))
	}()
	leave()
	close(left)
	want(t, "the work's context", <-ended, nil)
	<-done
	want(t, "calls", service.paths(), " /op1/complete")
}

func TestAGuardedConnectionCannotBeTakenOver(t *testing.T) {
	service := scripted(t, usual)
	server := guarded(t, service.client(t), func(w http.ResponseWriter, r *http.Request) {
		if _, _, err := w.(http.Hijacker).Hijack(); err == nil {
			t.Error("taken over")
		}
		charge(w, r)
	})
	want(t, "answer", post(t, server.URL, "x").body, "charged x")
}

func TestFieldsOfOuterMiddlewaresAreNoPartOfTheAnswer(t *testing.T) {
	service := scripted(t, usual)
	inner := service.client(t).Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Del("X-Dropped")
		w.Header().Set("X-Own", "1")
		w.Header()["Content-Type"] = nil
		_, _ = io.WriteString(w, "x")
		w.Header().Set("X-Late", "1")
	}))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", "17")
		w.Header().Set("X-Dropped", "1")
		inner.ServeHTTP(w, r)
	}))
	defer server.Close()
	answer := post(t, server.URL, "x")
	want(t, "sent", fmt.Sprint(answer.header["X-Request-Id"], answer.header["X-Own"], answer.header["X-Dropped"], answer.header["X-Late"], answer.header["Content-Type"]), "[17] [1] [] [] []")
	want(t, "kept", fmt.Sprint(service.seen()[1].object["answer"]), "map[headers:[[X-Own 1]] status:200]")
}

func TestObservedRequestsAreCounted(t *testing.T) {
	service := scripted(t, func(w http.ResponseWriter, call said, _ int) {
		if call.path == "" {
			say(w, `{"verdict":"observe","operation":"op1"}`)
		} else {
			say(w, settled)
		}
	})
	server := guarded(t, service.client(t), charge)
	want(t, "answer", post(t, server.URL, "x").body, "charged x")
	want(t, "calls", service.paths(), " /op1/complete")
	want(t, "no body", service.seen()[1].body, "")
}

func TestAConnectionThatBreaksAmidTheWorkIsReplaced(t *testing.T) {
	renewed := make(chan struct{})
	service := scripted(t, func(w http.ResponseWriter, call said, number int) {
		switch call.path {
		case "/op1/renew":
			say(w, `{"outcome":"renewed","lease_ms":30000}`)
			close(renewed)
		default:
			usual(w, call, number)
		}
	})
	server := guarded(t, service.client(t), func(w http.ResponseWriter, r *http.Request) {
		service.CloseClientConnections()
		select {
		case <-renewed:
		case <-time.After(20 * time.Second):
			t.Error("not renewed")
		}
		charge(w, r)
	})
	want(t, "answer", post(t, server.URL, "x").body, "charged x")
	want(t, "calls", service.paths(), " /op1/renew /op1/complete")
	calls := service.seen()
	want(t, "one connection for both", calls[1].connection, calls[2].connection)
}
