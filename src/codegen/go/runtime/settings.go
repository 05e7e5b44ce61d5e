package callplane

import (
	"context"
	"net/http"
	"time"
)

// Settings of a client. The zero value is ready to use.
type Settings struct {
	// Token is sent as a bearer token.
	Token string
	// TokenSource is asked for the token of each request instead. It is asked again when the server refuses one.
	TokenSource func(ctx context.Context) (string, error)
	// TrustedOrigins get the credential and the headers as well, such as "https://files.example".
	TrustedOrigins []string
	// Retries says how often a request is repeated. Repeats have the same ids, so nothing runs twice. Default: 3. No
	// repeats: -1.
	Retries int
	// IdleTimeout is the time without a byte after which a connection counts as broken. Default: one minute.
	IdleTimeout time.Duration
	// MaxReplyBytes bounds what is read into memory at once. Default: 64 MiB.
	MaxReplyBytes int64
	// Header is sent with every request to the server and to the trusted origins.
	Header http.Header
	// Transport replaces the HTTP transport. It must then decide itself which private addresses may be reached.
	Transport http.RoundTripper
	// OnDeprecated is called once for each deprecated operation that is used. Default: a line in the standard log.
	OnDeprecated func(message string)
}

func (settings Settings) retries() int {
	switch {
	case settings.Retries < 0:
		return 0
	case settings.Retries == 0:
		return 3
	default:
		return settings.Retries
	}
}

func (settings Settings) idleTimeout() time.Duration {
	if settings.IdleTimeout > 0 {
		return settings.IdleTimeout
	}
	return time.Minute
}

func (settings Settings) maxReplyBytes() int64 {
	if settings.MaxReplyBytes > 0 {
		return settings.MaxReplyBytes
	}
	return 64 << 20
}

type callSettings struct {
	ctx         map[string]string
	media       MediaSet
	noReconnect bool
}

// CallOption changes one call.
type CallOption func(*callSettings)

func withContext(name, value string) CallOption {
	return func(settings *callSettings) { settings.ctx[name] = value }
}

// WithRequestID sets the id of the call. Default: a new UUID.
func WithRequestID(id string) CallOption { return withContext("requestId", id) }

// WithIdempotencyKey makes calls with the same key run once. Default: a new UUID, which the repeats of a call share.
func WithIdempotencyKey(key string) CallOption { return withContext("idempotencyKey", key) }

// WithSessionID puts the call into a session.
func WithSessionID(id string) CallOption { return withContext("sessionId", id) }

// WithParentID names the call that caused this one.
func WithParentID(id string) CallOption { return withContext("parentId", id) }

// WithLocale asks for texts in this language.
func WithLocale(locale string) CallOption { return withContext("locale", locale) }

// WithTraceparent continues a W3C trace.
func WithTraceparent(traceparent string) CallOption { return withContext("traceparent", traceparent) }

// WithMedia sends files with the call.
func WithMedia(media MediaSet) CallOption {
	return func(settings *callSettings) { settings.media = media }
}

// WithoutReconnect ends a stream when its connection breaks.
func WithoutReconnect() CallOption {
	return func(settings *callSettings) { settings.noReconnect = true }
}
