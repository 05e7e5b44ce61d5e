package callplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Fault is a call that failed, on the server or on the way. Code says what happened, Error what to do.
type Fault struct {
	Code    string
	Message string
	// Retryable is true if a later call with a new idempotency key may succeed.
	Retryable bool
	// RetryAfter is how long to wait before that. Zero if the server did not say.
	RetryAfter time.Duration
	Remedy     string
	Cause      map[string]any
	// RequestID is the id of the call. Client.Resume follows it if the server has accepted it.
	RequestID string
	Status    int
	inner     error
}

func (fault *Fault) Error() string {
	return fault.Code + ": " + fault.Message
}

func (fault *Fault) Unwrap() error {
	return fault.inner
}

// IsFault reports whether an error is a Fault with this code.
func IsFault(err error, code string) bool {
	var fault *Fault
	return errors.As(err, &fault) && fault.Code == code
}

// errBroken wraps failures of the network: the connection failed, or the response was cut off.
var errBroken = errors.New("the connection broke")

func badReply(requestID string, status int, format string, values ...any) *Fault {
	remedy := "Check that the address is that of an OpenCALL server."
	message := fmt.Sprintf(format, values...) + " " + remedy
	return &Fault{Code: "BAD_REPLY", Message: message, Remedy: remedy, RequestID: requestID, Status: status}
}

// contextFault tells a timeout of the caller from a call that the caller gave up.
func contextFault(ctx context.Context, requestID string) *Fault {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		message := "The call did not end in time. The server may still run it: resume it by its request id."
		return &Fault{Code: "DEADLINE_EXCEEDED", Message: message, Retryable: true, RequestID: requestID, inner: ctx.Err()}
	}
	message := "The context of the call was canceled. The server may still run it: resume it by its request id."
	return &Fault{Code: "CONTEXT_CANCELED", Message: message, RequestID: requestID, inner: ctx.Err()}
}

func unreachable(origin string, requestID string, cause error) *Fault {
	message := fmt.Sprintf("%s cannot be reached (%v). Check the address and the network, then try again.", origin, cause)
	return &Fault{Code: "UNREACHABLE", Message: message, Retryable: true, RequestID: requestID, inner: cause}
}

type errorBody struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Cause   map[string]any `json:"cause"`
}

// faultIn reads the error of an envelope. Fields of other types than expected are ignored.
func faultIn(raw json.RawMessage, remedies map[string]string, requestID string, status int) *Fault {
	var body errorBody
	_ = json.Unmarshal(raw, &body)
	if body.Code == "" {
		body.Code = "FAILED"
	}
	if body.Message == "" {
		body.Message = "The server gave no reason."
	}
	fault := &Fault{Code: body.Code, Message: body.Message, Cause: body.Cause, RequestID: requestID, Status: status}
	retryable, _ := body.Cause["retryable"].(bool)
	fault.Retryable = retryable || status == 429 || status == 503
	if ms, ok := body.Cause["retryAfterMs"].(float64); ok {
		fault.RetryAfter = milliseconds(ms)
	}
	if remedy, ok := body.Cause["remedy"].(string); ok {
		fault.Remedy = remedy
	} else {
		fault.Remedy = remedies[body.Code]
	}
	return fault
}

const maxPause = time.Hour

// milliseconds bounds what a server says, so that no call sleeps for ever.
func milliseconds(ms float64) time.Duration {
	if !(ms > 0) {
		return 0
	}
	if ms > float64(maxPause.Milliseconds()) {
		return maxPause
	}
	return time.Duration(ms * float64(time.Millisecond))
}
