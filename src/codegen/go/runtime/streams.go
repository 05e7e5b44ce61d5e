package callplane

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// A new subscription is made this long before the old one expires, or a tenth of its time if that is less.
const (
	leadTime  = 5 * time.Second
	leaveTime = 2 * time.Second
)

type streamPlace struct {
	Transport string   `json:"transport"`
	Location  string   `json:"location"`
	ExpiresAt float64  `json:"expiresAt"`
	Auth      *ownAuth `json:"auth"`
}

// subscription is a stream beyond single connections and subscriptions. OpenCALL, "Termination".
type subscription struct {
	client  *core
	op      opInfo
	args    map[string]any
	options []CallOption
	// reconnect is false if a broken connection ends the stream.
	reconnect bool
	current   *call
	last      string
	renewAt   time.Time
	source    *events
	incoming  chan incoming
	failures  int
	over      bool
}

type incoming struct {
	event serverEvent
	err   error
}

func (client *core) subscribe(ctx context.Context, op opInfo, args any, options []CallOption) (*subscription, error) {
	settings := callSettings{ctx: map[string]string{}}
	for _, option := range options {
		option(&settings)
	}
	data, err := json.Marshal(args)
	if err != nil {
		return nil, &Fault{Code: "INVALID_ARGUMENTS", Message: err.Error(), inner: err}
	}
	// Numbers stay as they are.
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	given := map[string]any{}
	if err := decoder.Decode(&given); err != nil {
		return nil, &Fault{Code: "INVALID_ARGUMENTS", Message: "The arguments must be an object.", inner: err}
	}
	if given == nil {
		given = map[string]any{}
	}
	if _, set := given["transport"]; !set && !op.ownTransport {
		given["transport"] = []string{"sse", "wss"}
	}
	if _, set := given["encoding"]; !set && !op.ownEncoding && !op.binaryFrames {
		given["encoding"] = []string{"json"}
	}
	stream := &subscription{client: client, op: op, args: given, options: options, reconnect: !settings.noReconnect}
	return stream, stream.renew(ctx)
}

// renew subscribes. A repeated subscription is a new call, so it has new ids.
func (stream *subscription) renew(ctx context.Context) error {
	options := stream.options
	if stream.current != nil {
		options = append(append([]CallOption{}, options...), WithRequestID(newUUID()), WithIdempotencyKey(newUUID()))
	}
	current, err := stream.client.start(ctx, stream.op, stream.args, options, false)
	if err != nil {
		return err
	}
	place := current.last.Stream
	if current.last.State != "streaming" || place == nil {
		return badReply(current.requestID, 202, "%s responded with the state %q instead of a stream.", stream.op.name, current.last.State)
	}
	if place.Location == "" || (place.Transport != "sse" && place.Transport != "wss") {
		message := fmt.Sprintf("The frames come over %q, which this client does not read. Use another client.", place.Transport)
		return &Fault{Code: "UNSUPPORTED_TRANSPORT", Message: message, RequestID: current.requestID}
	}
	stream.current, stream.last, stream.renewAt = current, "", time.Time{}
	if left := place.lifetime(); left > 0 {
		lead := left / 10
		if lead > leadTime {
			lead = leadTime
		}
		stream.renewAt = time.Now().Add(left - lead)
	}
	return nil
}

// lifetime is the time until the subscription or its credential expires, whichever is first. A stream that has expired
// by this clock is read as long as it lasts.
func (place *streamPlace) lifetime() time.Duration {
	ends := []float64{place.ExpiresAt}
	if place.Auth != nil {
		ends = append(ends, place.Auth.ExpiresAt)
	}
	var shortest time.Duration
	for _, end := range ends {
		left := time.Until(time.UnixMilli(int64(end * 1000)))
		if end > 0 && end < 1e11 && left > 0 && (shortest == 0 || left < shortest) {
			shortest = left
		}
	}
	return shortest
}

// open connects. It returns the status if the server refuses.
func (stream *subscription) open(ctx context.Context) (int, error) {
	place := stream.current.last.Stream
	address := place.Location
	if strings.HasPrefix(address, "ws:") || strings.HasPrefix(address, "wss:") {
		address = "http" + address[2:]
	}
	address, err := stream.client.resolve(address)
	if err != nil {
		return 0, err
	}
	// The key of the reply works once, so a reader that resumes shows the caller's credential.
	own := place.Auth.header()
	if stream.last != "" {
		own = ""
		separator := "?"
		if strings.Contains(address, "?") {
			separator = "&"
		}
		address += separator + "after=" + stream.last
	}
	source, status, err := stream.client.openEvents(ctx, address, own)
	if err != nil || source == nil {
		return status, err
	}
	stream.source, stream.incoming = source, make(chan incoming)
	go pump(source, stream.incoming, source.response.body.patience.ctx)
	return status, nil
}

// pump reads events until the connection ends or its reader leaves.
func pump(source *events, out chan<- incoming, ctx context.Context) {
	for {
		event, err := source.next()
		select {
		case out <- incoming{event, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

func (stream *subscription) disconnect() {
	if stream.source != nil {
		stream.source.close()
		stream.source = nil
	}
}

// next returns the data of the next frame, or false at the end of the stream.
func (stream *subscription) next(ctx context.Context) ([]byte, bool, error) {
	for !stream.over {
		if stream.source == nil {
			if err := stream.connect(ctx); err != nil {
				return nil, false, err
			}
			continue
		}
		event, err := stream.receive(ctx)
		switch {
		case ctx.Err() != nil:
			return nil, false, contextFault(ctx, stream.current.requestID)
		case errors.Is(err, errBroken):
			stream.disconnect()
			if err := stream.again(ctx, err.Error()); err != nil {
				return nil, false, err
			}
		case err != nil:
			return nil, false, withRequestID(err, stream.current.requestID)
		case event.event == "end":
			return nil, false, stream.end(event)
		case event.event == "frame":
			stream.failures = 0
			if event.id != "" {
				stream.last = event.id
			}
			data, err := stream.frame(event)
			return data, err == nil, err
		}
	}
	return nil, false, nil
}

func (stream *subscription) connect(ctx context.Context) error {
	status, err := stream.open(ctx)
	switch {
	case ctx.Err() != nil:
		return contextFault(ctx, stream.current.requestID)
	case errors.Is(err, errBroken):
		return stream.again(ctx, err.Error())
	case err != nil:
		return withRequestID(err, stream.current.requestID)
	case stream.source != nil:
		return nil
	case status == 401 || status == 403:
		return stream.broken(fmt.Sprintf("status %d", status))
	}
	// It cannot be resumed, so it is subscribed to again.
	stream.last = ""
	return stream.again(ctx, fmt.Sprintf("status %d", status))
}

// again prepares the next connection after one that failed.
func (stream *subscription) again(ctx context.Context, reason string) error {
	stream.failures++
	if !stream.reconnect || stream.failures > stream.client.settings.retries() {
		return stream.broken(reason)
	}
	if err := pause(ctx, backoff(stream.failures-1), stream.current.requestID); err != nil {
		return err
	}
	if stream.last == "" {
		return stream.renew(ctx)
	}
	return nil
}

// receive waits for the next event, and subscribes again before the subscription expires.
func (stream *subscription) receive(ctx context.Context) (serverEvent, error) {
	var renewal <-chan time.Time
	if !stream.renewAt.IsZero() {
		timer := time.NewTimer(time.Until(stream.renewAt))
		defer timer.Stop()
		renewal = timer.C
	}
	select {
	case <-ctx.Done():
		return serverEvent{}, ctx.Err()
	case got := <-stream.incoming:
		return got.event, got.err
	case <-renewal:
	}
	old := stream.current.requestID
	stream.renewAt = time.Time{}
	// The old stream is read to its end if there is no new one.
	if stream.renew(ctx) == nil {
		stream.disconnect()
		stream.leave(old)
		if _, err := stream.open(ctx); err != nil {
			return serverEvent{}, err
		}
	}
	return serverEvent{}, nil
}

func (stream *subscription) frame(event serverEvent) ([]byte, error) {
	if !stream.op.binaryFrames {
		return []byte(event.data), nil
	}
	data, err := base64.StdEncoding.DecodeString(event.data)
	if err != nil {
		return nil, badReply(stream.current.requestID, 200, "A frame of the stream cannot be decoded.")
	}
	return data, nil
}

func (stream *subscription) end(event serverEvent) error {
	stream.over = true
	stream.disconnect()
	got := &answer{status: 200}
	if json.Unmarshal([]byte(event.data), &got.envelope) == nil && got.envelope.State == "error" {
		return stream.client.refusal(got, stream.current.requestID)
	}
	return nil
}

func (stream *subscription) broken(reason string) *Fault {
	message := fmt.Sprintf("The stream broke before its end (%s). Call it again.", reason)
	return &Fault{Code: "STREAM_BROKEN", Message: message, Retryable: true, RequestID: stream.current.requestID}
}

func (stream *subscription) close() {
	stream.disconnect()
	if !stream.over {
		stream.over = true
		stream.leave(stream.current.requestID)
	}
}

// leave tells the server that nobody reads any more. It would notice by itself, but later.
func (stream *subscription) leave(requestID string) {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
	defer cancel()
	body, err := json.Marshal(map[string]any{"op": "v1:unsubscribeFromStream", "args": map[string]any{"requestId": requestID}})
	if err != nil {
		return
	}
	response, err := stream.client.begin(ctx, http.MethodPost, stream.client.url+"/call", nil, bytesBody("application/json", body), "", leaveTime)
	if err == nil {
		response.close()
	}
}
