package callplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	heldSeconds = 30
	pollPause   = 250 * time.Millisecond
	leastPause  = 20 * time.Millisecond
)

// opInfo is what the registry says about an operation.
type opInfo struct {
	name         string
	binaryFrames bool
	ownTransport bool
	ownEncoding  bool
	chunked      bool
	syncDuration time.Duration
	warning      string
	// maxBytes has the limits of the files, by their names.
	maxBytes map[string]int64
}

type location struct {
	URI   string          `json:"uri"`
	Value json.RawMessage `json:"value"`
	Auth  *ownAuth        `json:"auth"`
}

type ownAuth struct {
	CredentialType string  `json:"credentialType"`
	Credential     string  `json:"credential"`
	ExpiresAt      float64 `json:"expiresAt"`
}

// header is the credential that the server gave for one address.
func (auth *ownAuth) header() string {
	if auth == nil || auth.Credential == "" {
		return ""
	}
	switch strings.ToLower(auth.CredentialType) {
	case "otk":
		return "OTK " + auth.Credential
	case "basic":
		return "Basic " + auth.Credential
	default:
		return "Bearer " + auth.Credential
	}
}

type envelope struct {
	RequestID    string          `json:"requestId"`
	State        string          `json:"state"`
	Result       json.RawMessage `json:"result"`
	Error        json.RawMessage `json:"error"`
	Location     *location       `json:"location"`
	Stream       *streamPlace    `json:"stream"`
	RetryAfterMs *float64        `json:"retryAfterMs"`
	Progress     *progressBody   `json:"progress"`
}

type progressBody struct {
	Fraction *float64 `json:"fraction"`
	Message  string   `json:"message"`
	Attempt  int      `json:"attempt"`
}

// Progress is one change of a call.
type Progress struct {
	State string
	// Fraction is between 0 and 1, or nil if the operation did not report it.
	Fraction *float64
	Message  string
	Attempt  int
}

func progressIn(now envelope) Progress {
	progress := Progress{State: now.State}
	if now.Progress != nil {
		progress.Fraction, progress.Message, progress.Attempt = now.Progress.Fraction, now.Progress.Message, now.Progress.Attempt
	}
	return progress
}

var stateOrder = map[string]int{"accepted": 1, "pending": 2, "streaming": 3, "complete": 4}

// call is one call, and what the server has said about it last.
type call struct {
	client    *core
	op        opInfo
	requestID string
	pollURL   string
	last      envelope
	// known is the last state that this client knows.
	known string
}

func (client *core) resumed(requestID string, op opInfo) *call {
	return &call{client: client, op: op, requestID: requestID, pollURL: client.url + "/ops/" + url.PathEscape(requestID)}
}

// take takes an envelope, and returns the fault that it contains.
func (current *call) take(got *answer) error {
	now := got.envelope
	rank := stateOrder[now.State]
	located := now.Location != nil && now.Location.URI != ""
	switch {
	case now.State == "":
		return badReply(current.requestID, got.status, "The response is no OpenCALL envelope.")
	case now.State == "error":
		return current.client.refusal(got, current.requestID)
	case got.status >= 400:
		return badReply(current.requestID, got.status, "The response has status %d and the state %q.", got.status, now.State)
	case rank == 0 && !located:
		message := fmt.Sprintf("The call is in the state %q, which this client does not know. Generate it again.", now.State)
		return &Fault{Code: "UNKNOWN_STATE", Message: message, RequestID: current.requestID, Status: got.status}
	case rank != 0 && rank < stateOrder[current.known]:
		return badReply(current.requestID, got.status, "The state went from %s back to %s.", current.known, now.State)
	case now.State == "complete" && len(now.Result) == 0 && now.Location == nil:
		return badReply(current.requestID, got.status, "The call is complete without a result.")
	}
	// OpenCALL, "Client Obligations for Safe Changes": a state of a later version is followed where it says.
	if rank <= stateOrder["pending"] && located {
		address, err := current.client.resolve(now.Location.URI)
		if err != nil {
			return withRequestID(err, current.requestID)
		}
		current.pollURL = address
	}
	if rank != 0 {
		current.known = now.State
	}
	current.last = now
	return nil
}

func (client *core) refusal(got *answer, requestID string) *Fault {
	fault := faultIn(got.envelope.Error, client.remedies, requestID, got.status)
	if wait, ok := retryAfter(got); ok && fault.RetryAfter == 0 {
		fault.RetryAfter = wait
	}
	return fault
}

func (current *call) ended() bool { return current.last.State == "complete" }

// start sends the call. A lost connection is safe to repeat: the ids are the same.
func (client *core) start(ctx context.Context, op opInfo, args any, options []CallOption, wait bool) (*call, error) {
	client.warn(op)
	settings := callSettings{ctx: map[string]string{"requestId": newUUID(), "idempotencyKey": newUUID()}}
	for _, option := range options {
		option(&settings)
	}
	current := client.resumed(settings.ctx["requestId"], op)
	request := map[string]any{"op": op.name, "args": args, "ctx": settings.ctx}
	var files map[string]Media
	var entries []mediaEntry
	if settings.media != nil {
		files = settings.media.media()
		entries = sortedMedia(files)
		if err := checkSizes(files, op.maxBytes); err != nil {
			return nil, err
		}
		request["media"] = entries
	}
	data, err := json.Marshal(request)
	if err != nil {
		return nil, &Fault{Code: "INVALID_ARGUMENTS", Message: err.Error(), RequestID: current.requestID, inner: err}
	}
	body := bytesBody("application/json", data)
	for _, entry := range entries {
		if entry.Part != "" {
			body = multipartBody(data, entries, files)
			break
		}
	}
	header := map[string]string{}
	extra := op.syncDuration
	if wait {
		header["Prefer"] = fmt.Sprintf("wait=%d", secondsHeld(ctx))
		extra += heldSeconds * time.Second
	}
	got, err := client.ask(ctx, http.MethodPost, client.url+"/call", header, body, current.requestID, extra)
	if err != nil {
		return nil, err
	}
	return current, current.take(got)
}

func secondsHeld(ctx context.Context) int {
	if until, ok := ctx.Deadline(); ok {
		if left := int(time.Until(until).Seconds()); left < heldSeconds {
			return left
		}
	}
	return heldSeconds
}

// wait polls until the call has ended. "Prefer: wait" lets the server hold each poll.
func (current *call) wait(ctx context.Context) error {
	for !current.ended() {
		if current.last.State != "" {
			if err := pause(ctx, pauseOf(current.last), current.requestID); err != nil {
				return err
			}
		}
		header := map[string]string{"Prefer": fmt.Sprintf("wait=%d", secondsHeld(ctx))}
		if err := current.poll(ctx, header, heldSeconds*time.Second); err != nil {
			return err
		}
		if current.last.State == "streaming" {
			return &Fault{Code: "NOT_A_RESULT", Message: "This call is a stream. Read its frames.", RequestID: current.requestID}
		}
	}
	return nil
}

func (current *call) poll(ctx context.Context, header map[string]string, extra time.Duration) error {
	got, err := current.client.ask(ctx, http.MethodGet, current.pollURL, header, nil, current.requestID, extra)
	if err != nil {
		return err
	}
	return current.take(got)
}

// pauseOf is how long the server asks to wait before the next poll. One that says "at once" is not asked without a pause.
func pauseOf(now envelope) time.Duration {
	if now.RetryAfterMs == nil || *now.RetryAfterMs < 0 {
		return pollPause
	}
	if wait := milliseconds(*now.RetryAfterMs); wait > leastPause {
		return wait
	}
	return leastPause
}

func (current *call) cancel(ctx context.Context) (Progress, error) {
	got, err := current.client.ask(ctx, http.MethodDelete, current.pollURL, nil, nil, current.requestID, 0)
	if err != nil {
		return Progress{}, err
	}
	if got.status >= 400 {
		return Progress{}, current.client.refusal(got, current.requestID)
	}
	return progressIn(got.envelope), nil
}

// watch calls tell with every change until the end of the call: by server-sent events, and by polls where there are none.
func (current *call) watch(ctx context.Context, tell func(Progress) bool) error {
	for failures := 0; !current.ended() && failures <= current.client.settings.retries(); {
		source, _, err := current.client.openEvents(ctx, current.pollURL+"/events", "")
		if err == nil && source == nil {
			break
		}
		if err == nil {
			done, seen, failed := current.watchEvents(source, tell)
			if done {
				return nil
			}
			if seen {
				failures = 0
			}
			err = failed
		}
		if ctx.Err() != nil {
			return contextFault(ctx, current.requestID)
		}
		if !errors.Is(err, errBroken) {
			return withRequestID(err, current.requestID)
		}
		failures++
		if err := pause(ctx, pollPause, current.requestID); err != nil {
			return err
		}
	}
	return current.watchPolls(ctx, tell)
}

func (current *call) watchEvents(source *events, tell func(Progress) bool) (done, seen bool, err error) {
	defer source.close()
	for {
		event, err := source.next()
		if err != nil {
			return false, seen, err
		}
		seen = true
		var now envelope
		if json.Unmarshal([]byte(event.data), &now) != nil {
			continue
		}
		switch now.State {
		case "accepted", "pending":
			if !tell(progressIn(now)) {
				return true, true, nil
			}
		case "complete", "error":
			tell(progressIn(now))
			return true, true, nil
		}
	}
}

func (current *call) watchPolls(ctx context.Context, tell func(Progress) bool) error {
	for !current.ended() {
		err := current.poll(ctx, nil, 0)
		var fault *Fault
		if errors.As(err, &fault) && fault.Status == 200 {
			tell(Progress{State: "error"})
			return nil
		}
		if err != nil {
			return err
		}
		if !tell(progressIn(current.last)) || current.ended() {
			return nil
		}
		if err := pause(ctx, pauseOf(current.last), current.requestID); err != nil {
			return err
		}
	}
	return nil
}

// result is the result in the reply, or the JSON at its location.
func (current *call) result(ctx context.Context) (json.RawMessage, error) {
	if err := current.wait(ctx); err != nil {
		return nil, err
	}
	if len(current.last.Result) > 0 {
		return current.last.Result, nil
	}
	place := current.last.Location
	if len(place.Value) > 0 {
		return place.Value, nil
	}
	address, err := current.client.resolve(place.URI)
	if err != nil {
		return nil, withRequestID(err, current.requestID)
	}
	data, err := current.located(ctx, address, place.Auth.header())
	if err != nil && ctx.Err() != nil {
		return nil, contextFault(ctx, current.requestID)
	}
	if errors.Is(err, errBroken) {
		return nil, unreachable(shownOrigin(address), current.requestID, err)
	}
	return data, withRequestID(err, current.requestID)
}

func (current *call) located(ctx context.Context, address, own string) (json.RawMessage, error) {
	response, err := current.client.fetch(ctx, address, map[string]string{"Accept": "application/json, */*"}, own)
	if err != nil {
		return nil, err
	}
	defer response.close()
	if response.StatusCode != 200 {
		return nil, current.unavailable(response.StatusCode)
	}
	if kind := response.mimeType(); kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		remedy := "Use Content instead."
		return nil, &Fault{Code: "RESULT_IS_A_FILE", Message: fmt.Sprintf("The result is a file of type %q. %s", kind, remedy), Remedy: remedy}
	}
	data, err := current.client.readAll(response, current.requestID)
	if err == nil && !json.Valid(data) {
		return nil, badReply(current.requestID, 200, "The result is not JSON.")
	}
	return data, err
}

func (current *call) unavailable(status int) *Fault {
	message := fmt.Sprintf("The result cannot be fetched: the server responded with status %d.", status)
	return &Fault{Code: "RESULT_UNAVAILABLE", Message: message, RequestID: current.requestID, Status: status}
}
