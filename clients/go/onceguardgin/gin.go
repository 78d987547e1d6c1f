// Package onceguardgin guards the handlers of a Gin engine, a group or a route.
package onceguardgin

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"onceguard"
)

// Middleware is Client.Middleware for Gin. A Recovery that was used before it answers for a panic
// that has been settled; one after it makes an answer of 500 of it, which is settled.
func Middleware(client *onceguard.Client) gin.HandlerFunc {
	return func(c *gin.Context) {
		outer := c.Writer
		defer func() { c.Writer = outer }()
		client.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c.Request = r
			if held, guarded := w.(holder); guarded && w != http.ResponseWriter(outer) {
				c.Writer = &writer{holder: held, status: http.StatusOK, size: -1}
			}
			c.Next()
			c.Writer.WriteHeaderNow()
		})).ServeHTTP(outer, c.Request)
		c.Abort() // what was refused or replayed runs no handler
	}
}

type holder interface {
	http.ResponseWriter
	http.Flusher
	http.Hijacker
	http.CloseNotifier
}

// writer is what Gin's own is, over an answer that is held: the status may change until the first
// byte.
type writer struct {
	holder
	status, size int
}

func (w *writer) WriteHeader(status int) {
	if status > 0 && !w.Written() {
		w.status = status
	}
}

func (w *writer) WriteHeaderNow() {
	if !w.Written() {
		w.size = 0
		w.holder.WriteHeader(w.status)
	}
}

func (w *writer) Write(part []byte) (int, error) {
	w.WriteHeaderNow()
	n, err := w.holder.Write(part)
	w.size += n
	return n, err
}

func (w *writer) Flush() {
	w.WriteHeaderNow()
	w.holder.Flush()
}

func (w *writer) WriteString(part string) (int, error) { return w.Write([]byte(part)) }
func (w *writer) Status() int                          { return w.status }
func (w *writer) Size() int                            { return w.size }
func (w *writer) Written() bool                        { return w.size != -1 }
func (w *writer) Pusher() http.Pusher                  { return nil }
