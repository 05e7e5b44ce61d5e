package callplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// reach says which addresses another origin may have: none that is nearer to this machine than the server itself is.
type reach struct {
	home    string
	closest int32
}

type foreignKey struct{}

// mark notes for the dialer that the address comes from a server and is not trusted.
func (limit *reach) mark(ctx context.Context, address string, trusted bool) context.Context {
	if trusted {
		return ctx
	}
	origin, _ := originOf(address)
	return context.WithValue(ctx, foreignKey{}, hostPort(origin))
}

func (limit *reach) transport() http.RoundTripper {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           limit.dial,
		TLSHandshakeTimeout:   10 * time.Second,
		MaxIdleConnsPerHost:   8,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
		ForceAttemptHTTP2:     true,
	}
}

func (limit *reach) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	foreign, _ := ctx.Value(foreignKey{}).(string)
	if foreign == address {
		dialer.Control = func(_, resolved string, _ syscall.RawConn) error {
			host, _, err := net.SplitHostPort(resolved)
			if err != nil {
				return err
			}
			near := closeness(host)
			if near == 3 || near > int(atomic.LoadInt32(&limit.closest)) {
				message := fmt.Sprintf("The server names %s, which is a private address. Add its origin to TrustedOrigins.", address)
				return &Fault{Code: "LOCATION_REFUSED", Message: message}
			}
			return nil
		}
	}
	connection, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if address == limit.home {
		host, _, _ := net.SplitHostPort(connection.RemoteAddr().String())
		atomic.StoreInt32(&limit.closest, int32(closeness(host)))
	}
	return &lenientConn{Conn: connection}, nil
}

// lenientConn leaves a failed write to the reader: a server that refuses a file on the way has sent a response that says
// why, and net/http would not read it after a failed write.
type lenientConn struct {
	net.Conn
	refused atomic.Bool
}

func (connection *lenientConn) Write(data []byte) (int, error) {
	if connection.refused.Load() {
		return len(data), nil
	}
	count, err := connection.Conn.Write(data)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		connection.refused.Store(true)
		return len(data), nil
	}
	return count, err
}

// closeness is 0 for a public address, 1 for a private one, 2 for this machine, 3 for one that no server has.
func closeness(host string) int {
	ip := net.ParseIP(strings.Split(host, "%")[0])
	switch {
	case ip == nil || ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.IsUnspecified():
		return 3
	case ip.IsLoopback():
		return 2
	case ip.IsPrivate() || (ip.To4() != nil && ip.To4()[0] == 100 && ip.To4()[1]&0xc0 == 64):
		return 1
	default:
		return 0
	}
}

func hostPort(origin string) string {
	return origin[strings.Index(origin, "://")+3:]
}

func joinHost(host, port string) string {
	return net.JoinHostPort(host, port)
}

// patience cancels a request when no byte has come for some time.
type patience struct {
	ctx    context.Context
	cancel context.CancelFunc
	timer  *time.Timer
	idle   time.Duration
}

func newPatience(parent context.Context, idle time.Duration) *patience {
	ctx, cancel := context.WithCancel(parent)
	return &patience{ctx: ctx, cancel: cancel, timer: time.AfterFunc(idle, cancel), idle: idle}
}

func (limit *patience) stop() {
	limit.timer.Stop()
	limit.cancel()
}

type patientBody struct {
	io.ReadCloser
	patience *patience
	// keep is set for the body of a request: the response is still to come when it ends.
	keep bool
}

func (body *patientBody) Read(data []byte) (int, error) {
	count, err := body.ReadCloser.Read(data)
	if count > 0 {
		body.patience.timer.Reset(body.patience.idle)
	}
	return count, err
}

func (body *patientBody) Close() error {
	err := body.ReadCloser.Close()
	if !body.keep {
		body.patience.stop()
	}
	return err
}
