package callplane

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	mathrand "math/rand"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

const maxRedirects = 5

// core is what all operations of a client share.
type core struct {
	url      string
	home     string
	trusted  map[string]bool
	remedies map[string]string
	settings Settings
	http     *http.Client
	reach    *reach

	mutex    sync.Mutex
	warned   map[string]bool
	etag     string
	registry json.RawMessage
}

func newCore(address string, settings Settings, remedies map[string]string) (*core, error) {
	home, err := originOf(address)
	if err != nil {
		return nil, err
	}
	trusted := map[string]bool{home: true}
	for _, origin := range settings.TrustedOrigins {
		name, err := originOf(origin)
		if err != nil {
			return nil, err
		}
		trusted[name] = true
	}
	client := &core{
		url:      strings.TrimRight(address, "/"),
		home:     home,
		trusted:  trusted,
		remedies: remedies,
		settings: settings,
		warned:   map[string]bool{},
		reach:    &reach{home: hostPort(home)},
	}
	transport := settings.Transport
	if transport == nil {
		transport = client.reach.transport()
	}
	// Redirects are followed by fetch, which knows where the credential may go.
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client.http = &http.Client{Transport: transport, CheckRedirect: noRedirect}
	return client, nil
}

// originOf accepts addresses that may come from a server: http and https, without a user name.
func originOf(address string) (string, error) {
	parsed, err := url.Parse(address)
	if err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Hostname() == "" || parsed.User != nil {
		if len(address) > 200 {
			address = address[:200]
		}
		return "", &Fault{Code: "LOCATION_REFUSED", Message: fmt.Sprintf("This client does not open %q.", address)}
	}
	port := parsed.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[parsed.Scheme]
	}
	return parsed.Scheme + "://" + joinHost(strings.ToLower(parsed.Hostname()), port), nil
}

func (client *core) resolve(uri string) (string, error) {
	base, err := url.Parse(client.url + "/call")
	if err != nil {
		return "", err
	}
	parsed, err := base.Parse(uri)
	if err != nil {
		_, refused := originOf(uri)
		return "", refused
	}
	_, err = originOf(parsed.String())
	return parsed.String(), err
}

// trusts says where the caller's credential may go: to the server itself and to the trusted origins.
func (client *core) trusts(address string) bool {
	origin, err := originOf(address)
	return err == nil && client.trusted[origin]
}

func (client *core) credential(ctx context.Context, address string) (string, error) {
	if !client.trusts(address) {
		return "", nil
	}
	token := client.settings.Token
	if client.settings.TokenSource != nil {
		fresh, err := client.settings.TokenSource(ctx)
		if err != nil {
			return "", &Fault{Code: "TOKEN_UNAVAILABLE", Message: "The token source failed: " + err.Error(), inner: err}
		}
		token = fresh
	}
	if token == "" {
		return "", nil
	}
	return "Bearer " + token, nil
}

// reply is a response whose body is read under the idle timeout.
type reply struct {
	*http.Response
	body *patientBody
}

func (answer *reply) close() { _ = answer.body.Close() }

func (answer *reply) mimeType() string {
	return strings.ToLower(strings.TrimSpace(strings.Split(answer.Header.Get("Content-Type"), ";")[0]))
}

// begin sends one request with the right credential. own is the one that the server gave for this address.
func (client *core) begin(ctx context.Context, method, address string, header map[string]string, body *requestBody, own string, idle time.Duration) (*reply, error) {
	credential := own
	if own == "" {
		var err error
		if credential, err = client.credential(ctx, address); err != nil {
			return nil, err
		}
	}
	answer, err := client.send(ctx, method, address, header, body, credential, idle)
	if err != nil || answer.StatusCode != 401 || own != "" || credential == "" || client.settings.TokenSource == nil {
		return answer, err
	}
	fresh, err := client.credential(ctx, address)
	if err != nil || fresh == credential {
		return answer, nil
	}
	answer.close()
	return client.send(ctx, method, address, header, body, fresh, idle)
}

func (client *core) send(ctx context.Context, method, address string, header map[string]string, body *requestBody, credential string, idle time.Duration) (*reply, error) {
	if _, err := originOf(address); err != nil {
		return nil, err
	}
	patient := newPatience(ctx, idle)
	request, err := http.NewRequestWithContext(client.reach.mark(patient.ctx, address, client.trusts(address)), method, address, nil)
	if err != nil {
		patient.stop()
		return nil, err
	}
	if client.trusts(address) {
		for name, values := range client.settings.Header {
			request.Header[name] = values
		}
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	// The transport would decode gzip by itself, and lengths and ranges would not fit the bytes any more.
	request.Header.Set("Accept-Encoding", "identity")
	if credential != "" {
		request.Header.Set("Authorization", credential)
	}
	if body != nil {
		request.Header.Set("Content-Type", body.contentType)
		request.ContentLength = body.size
		opened, err := body.open()
		if err != nil {
			patient.stop()
			return nil, &Fault{Code: "FILE_UNREADABLE", Message: err.Error(), inner: err}
		}
		request.Body = &patientBody{ReadCloser: opened, patience: patient, keep: true}
		request.GetBody = body.open
	}
	response, err := client.http.Do(request)
	if err != nil {
		patient.stop()
		var fault *Fault
		if errors.As(err, &fault) {
			return nil, fault
		}
		return nil, fmt.Errorf("%w: %v", errBroken, plainError(err))
	}
	return &reply{Response: response, body: &patientBody{ReadCloser: response.Body, patience: patient}}, nil
}

// plainError leaves out the address, which may contain a signature.
func plainError(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// answer is a response with an envelope.
type answer struct {
	status   int
	header   http.Header
	envelope envelope
	raw      json.RawMessage
}

// ask sends a request whose response is an envelope. It is safe to repeat: the request carries its own ids.
func (client *core) ask(ctx context.Context, method, address string, header map[string]string, body *requestBody, requestID string, extra time.Duration) (*answer, error) {
	for attempt := 0; ; attempt++ {
		got, err := client.askOnce(ctx, method, address, header, body, requestID, client.settings.idleTimeout()+extra)
		wait := backoff(attempt)
		switch {
		case err == nil:
			if (got.status != 429 && got.status != 503) || attempt >= client.settings.retries() {
				return got, nil
			}
			if hint, ok := retryAfter(got); ok {
				wait = hint
			}
			if until, ok := ctx.Deadline(); ok && time.Until(until) <= wait {
				return got, nil
			}
		case ctx.Err() != nil:
			return nil, contextFault(ctx, requestID)
		case !errors.Is(err, errBroken):
			return nil, withRequestID(err, requestID)
		case attempt >= client.settings.retries():
			return nil, unreachable(shownOrigin(address), requestID, err)
		}
		if err := pause(ctx, wait, requestID); err != nil {
			return nil, err
		}
	}
}

func (client *core) askOnce(ctx context.Context, method, address string, header map[string]string, body *requestBody, requestID string, idle time.Duration) (*answer, error) {
	all := map[string]string{"Accept": "application/json"}
	for name, value := range header {
		all[name] = value
	}
	response, err := client.begin(ctx, method, address, all, body, "", idle)
	if err != nil {
		return nil, err
	}
	defer response.close()
	data, err := client.readAll(response, requestID)
	if err != nil {
		return nil, err
	}
	got := &answer{status: response.StatusCode, header: response.Header, raw: data}
	if response.StatusCode == 304 {
		return got, nil
	}
	if err := json.Unmarshal(data, &got.envelope); err == nil && strings.HasPrefix(strings.TrimSpace(string(data)), "{") {
		return got, nil
	}
	// A proxy in front of the server responds for it.
	if got.status == 502 || got.status == 503 || got.status == 504 {
		return nil, fmt.Errorf("%w: a response with status %d", errBroken, got.status)
	}
	// A redirect may have no body: its address is in the header.
	if target := response.Header.Get("Location"); got.status == 303 && target != "" {
		got.envelope = envelope{RequestID: requestID, State: "complete", Location: &location{URI: target}}
		return got, nil
	}
	return nil, badReply(requestID, got.status, "%s responded with status %d and no OpenCALL document.", shownOrigin(address), got.status)
}

func (client *core) readAll(response *reply, requestID string) ([]byte, error) {
	limit := client.settings.maxReplyBytes()
	data, err := io.ReadAll(io.LimitReader(response.body, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %v", errBroken, err)
	}
	if int64(len(data)) > limit {
		return nil, badReply(requestID, response.StatusCode, "The response is larger than %d bytes.", limit)
	}
	return data, nil
}

// fetch follows redirects. No credential follows to another origin.
func (client *core) fetch(ctx context.Context, address string, header map[string]string, own string) (*reply, error) {
	for hops := 0; hops <= maxRedirects; hops++ {
		response, err := client.begin(ctx, http.MethodGet, address, header, nil, own, client.settings.idleTimeout())
		if err != nil {
			return nil, err
		}
		switch response.StatusCode {
		case 301, 302, 303, 307, 308:
		default:
			return response, nil
		}
		response.close()
		before, _ := originOf(address)
		target, err := response.Request.URL.Parse(response.Header.Get("Location"))
		if err != nil {
			_, refused := originOf(response.Header.Get("Location"))
			return nil, refused
		}
		address = target.String()
		after, err := originOf(address)
		if err != nil {
			return nil, err
		}
		if before != after {
			own = ""
		}
	}
	return nil, &Fault{Code: "TOO_MANY_REDIRECTS", Message: "The result is behind too many redirects."}
}

func (client *core) warn(op opInfo) {
	if op.warning == "" {
		return
	}
	client.mutex.Lock()
	known := client.warned[op.name]
	client.warned[op.name] = true
	client.mutex.Unlock()
	if known {
		return
	}
	if client.settings.OnDeprecated != nil {
		client.settings.OnDeprecated(op.warning)
	} else {
		log.Print("callplane: " + op.warning)
	}
}

func withRequestID(err error, requestID string) error {
	var fault *Fault
	if errors.As(err, &fault) && fault.RequestID == "" {
		fault.RequestID = requestID
	}
	return err
}

func shownOrigin(address string) string {
	origin, err := originOf(address)
	if err != nil {
		return "The address"
	}
	return origin
}

// retryAfter reads the body or the header. RFC 9110 allows a date in the header.
func retryAfter(got *answer) (time.Duration, bool) {
	if got.envelope.RetryAfterMs != nil {
		return milliseconds(*got.envelope.RetryAfterMs), true
	}
	header := got.header.Get("Retry-After")
	if seconds, err := strconv.Atoi(header); err == nil && seconds >= 0 {
		return milliseconds(float64(seconds) * 1000), true
	}
	if at, err := http.ParseTime(header); err == nil {
		return milliseconds(float64(time.Until(at).Milliseconds())), true
	}
	return 0, false
}

func backoff(attempt int) time.Duration {
	wait := 5 * time.Second
	if attempt < 5 {
		wait = 200 * time.Millisecond << attempt
	}
	return wait/2 + time.Duration(mathrand.Int63n(int64(wait/2)))
}

func pause(ctx context.Context, wait time.Duration, requestID string) error {
	if until, ok := ctx.Deadline(); ok && time.Until(until) <= wait {
		message := "The call did not end in time. The server may still run it: resume it by its request id."
		return &Fault{Code: "DEADLINE_EXCEEDED", Message: message, Retryable: true, RequestID: requestID, inner: context.DeadlineExceeded}
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return contextFault(ctx, requestID)
	case <-timer.C:
		return nil
	}
}

func newUUID() string {
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		panic("callplane: no random numbers: " + err.Error())
	}
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
