// Package onceguard makes an operation that may arrive more than once take effect once, and gives
// every repeat the first answer. It is a client of the decision service `onceguard serve`.
package onceguard

import (
	"context"
	"crypto/tls"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// Client talks to one decision service. It may be used from many goroutines.
type Client struct {
	base, token, service    string
	timeout, wait, patience time.Duration // patience is for a settle
	maxBody                 int64
	open                    bool
	report                  func(error)
	dial                    func(ctx context.Context, network, address string) (net.Conn, error)
	tls                     *tls.Config
	idle                    chan *line
}

// Option changes a Client that New makes.
type Option func(*Client)

// Token is shown to the service, which needs one on TCP beyond loopback.
func Token(token string) Option { return func(c *Client) { c.token = token } }

// Open runs work unguarded while the service is away: at least once, instead of 503.
func Open() Option { return func(c *Client) { c.open = true } }

// Timeout is what a claim may take besides the wait for a twin: 5 s without it.
func Timeout(limit time.Duration) Option { return func(c *Client) { c.timeout = limit } }

// Wait is the longest `wait` of the service's policies: 10 s without it.
func Wait(limit time.Duration) Option { return func(c *Client) { c.wait = limit } }

// MaxBody bounds what is held in memory of a request's body: 1 MiB without it. A longer one passes
// where it is not guarded, and else gets 413.
func MaxBody(bytes int64) Option { return func(c *Client) { c.maxBody = bytes } }

// Service is the name by which fingerprints of requests know this service: with a gateway in front,
// its upstream's name.
func Service(name string) Option { return func(c *Client) { c.service = name } }

// TLS configures https://.
func TLS(config *tls.Config) Option { return func(c *Client) { c.tls = config } }

// Report hears of errors that nobody else is told; without it the log has them.
func Report(report func(error)) Option { return func(c *Client) { c.report = report } }

// New makes a client of the service at unix:/PATH, http://HOST:PORT or https://HOST:PORT, and does
// not connect yet.
func New(address string, options ...Option) (*Client, error) {
	at, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("onceguard: %w", err)
	}
	var dialer net.Dialer
	c := &Client{base: address, timeout: 5 * time.Second, wait: 10 * time.Second, patience: 10 * time.Second,
		maxBody: 1 << 20, report: func(err error) { log.Print("onceguard: ", err) },
		dial: dialer.DialContext, idle: make(chan *line, 64)}
	switch web := at.Scheme == "http" || at.Scheme == "https"; {
	case at.Scheme == "unix" && at.Host == "" && at.Path != "":
		c.base = "http://localhost"
		c.dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", at.Path)
		}
	case !web || at.Host == "" || at.Path != "" || at.RawQuery != "" || at.User != nil:
		return nil, fmt.Errorf("onceguard: %q is none of unix:/PATH, http://HOST:PORT, https://HOST:PORT", address)
	}
	for _, option := range options {
		option(c)
	}
	return c, nil
}

// line is a transport of one connection. A lease lives as long as the connection of its claim, so an
// operation has a line of its own until it is settled.
type line struct {
	http.Transport
	now atomic.Value // *watched: the connection that there is
}

// watched tells when the connection ends, also while nothing is asked on it.
type watched struct {
	net.Conn
	once  sync.Once
	ended chan struct{}
}

func (w *watched) Read(into []byte) (int, error) {
	n, err := w.Conn.Read(into)
	if err != nil {
		w.once.Do(func() { close(w.ended) })
	}
	return n, err
}

func (c *Client) take() *line {
	select {
	case kept := <-c.idle:
		return kept
	default:
	}
	made := &line{}
	made.TLSClientConfig, made.MaxConnsPerHost, made.DisableCompression = c.tls, 1, true
	made.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		dialled, err := c.dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		made.now.Store(&watched{Conn: dialled, ended: make(chan struct{})})
		return made.now.Load().(net.Conn), nil
	}
	return made
}

func (c *Client) give(back *line) {
	select {
	case c.idle <- back:
	default:
		back.CloseIdleConnections()
	}
}

// Close ends the connections that are idle. Work that runs keeps its own.
func (c *Client) Close() {
	for len(c.idle) > 0 {
		c.take().CloseIdleConnections()
	}
}
