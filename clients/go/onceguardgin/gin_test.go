package onceguardgin

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"onceguard"
)

// service is a decision service that says `verdict`, settles everything, and notes the calls.
func service(t *testing.T, verdict string, calls *[]string) *onceguard.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		_, rest, _ := bytes.Cut(body, []byte("\n"))
		*calls = append(*calls, strings.TrimPrefix(r.URL.Path, "/v1/operations")+" "+string(rest))
		if r.URL.Path == "/v1/operations" {
			fmt.Fprintln(w, verdict)
		} else {
			fmt.Fprintln(w, `{"outcome":"settled"}`)
		}
	}))
	t.Cleanup(server.Close)
	client, err := onceguard.New(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

const run = `{"verdict":"run","operation":"op1","token":7,"attempt":1,"headers":[["Onceguard-Token","7"]]}`

func post(engine *gin.Engine, body string) *httptest.ResponseRecorder {
	gin.SetMode(gin.TestMode)
	out := httptest.NewRecorder()
	engine.ServeHTTP(out, httptest.NewRequest("POST", "/pay", strings.NewReader(body)))
	return out
}

func want(t *testing.T, what string, is, expected any) {
	t.Helper()
	if fmt.Sprint(is) != fmt.Sprint(expected) {
		t.Errorf("%s: %v, expected %v", what, is, expected)
	}
}

func TestAnAnswerOfGinIsToldAndSent(t *testing.T) {
	var calls []string
	engine := gin.New()
	engine.Use(Middleware(service(t, run, &calls)))
	engine.POST("/pay", func(c *gin.Context) {
		c.Status(http.StatusAccepted)
		want(t, "nothing is written yet", c.Writer.Written(), false)
		running, _ := onceguard.FromContext(c.Request.Context())
		c.JSON(http.StatusCreated, gin.H{"token": running.Token, "field": c.GetHeader("Onceguard-Token")})
		want(t, "size", fmt.Sprint(c.Writer.Status(), c.Writer.Size()), "201 25")
	})
	out := post(engine, "{}")
	want(t, "answer", fmt.Sprint(out.Code, out.Header()["Content-Type"], out.Body), `201 [application/json; charset=utf-8] {"field":"7","token":"7"}`)
	want(t, "calls", calls, []string{" {}", `/op1/complete {"field":"7","token":"7"}`})
}

func TestAStatusAloneIsAnAnswer(t *testing.T) {
	var calls []string
	engine := gin.New()
	engine.Use(Middleware(service(t, run, &calls)))
	engine.POST("/pay", func(c *gin.Context) { c.Status(http.StatusNoContent) })
	want(t, "status", post(engine, "").Code, 204)
	want(t, "calls", calls, []string{" ", "/op1/complete "})
}

func TestARefusalRunsNoHandler(t *testing.T) {
	var calls []string
	engine := gin.New()
	engine.Use(Middleware(service(t, `{"verdict":"busy","reply":{"status":409,"headers":[["Retry-After","1"]]}}`, &calls)))
	engine.POST("/pay", func(*gin.Context) { t.Error("ran") })
	out := post(engine, "")
	want(t, "answer", fmt.Sprint(out.Code, out.Header().Get("Retry-After")), "4091")
}

func TestAPanicIsSettledWhereverItIsRecovered(t *testing.T) {
	for where, settled := range map[string]string{"before": "/op1/exception ", "after": "/op1/complete "} {
		var calls []string
		engine := gin.New()
		middlewares := []gin.HandlerFunc{gin.RecoveryWithWriter(io.Discard), Middleware(service(t, run, &calls))}
		if where == "after" {
			middlewares[0], middlewares[1] = middlewares[1], middlewares[0]
		}
		engine.Use(middlewares...)
		engine.POST("/pay", func(*gin.Context) { panic("a bug") })
		want(t, where, post(engine, "").Code, 500)
		want(t, where, calls, []string{" ", settled})
	}
}
