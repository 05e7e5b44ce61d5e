package callplane

import (
	"context"
	"encoding/json"
	"net/http"
)

// anyClient calls operations by name. Client adds the operations of the server.
type anyClient struct {
	core *core
}

// Call calls an operation by its name, such as "v1:orders.getItem".
func (client *anyClient) Call(ctx context.Context, op string, args map[string]any, options ...CallOption) (json.RawMessage, error) {
	return Operation[map[string]any, json.RawMessage]{client.core, opInfo{name: op}}.Call(ctx, args, options...)
}

// Start starts an operation by its name.
func (client *anyClient) Start(ctx context.Context, op string, args map[string]any, options ...CallOption) (*Run[json.RawMessage], error) {
	return Operation[map[string]any, json.RawMessage]{client.core, opInfo{name: op}}.Start(ctx, args, options...)
}

// Stream subscribes to an operation by its name.
func (client *anyClient) Stream(ctx context.Context, op string, args map[string]any, options ...CallOption) (*Stream[json.RawMessage], error) {
	return StreamOperation[map[string]any, json.RawMessage]{client.core, opInfo{name: op}}.Call(ctx, args, options...)
}

// Resume follows a call that was started earlier.
func (client *anyClient) Resume(requestID string) *Run[json.RawMessage] {
	return &Run[json.RawMessage]{call: client.core.resumed(requestID, opInfo{})}
}

// Registry returns what the server offers now. It is sent again only if it has changed.
func (client *anyClient) Registry(ctx context.Context) (json.RawMessage, error) {
	client.core.mutex.Lock()
	etag, known := client.core.etag, client.core.registry
	client.core.mutex.Unlock()
	header := map[string]string{}
	if etag != "" {
		header["If-None-Match"] = etag
	}
	got, err := client.core.ask(ctx, http.MethodGet, client.core.url+"/.well-known/ops", header, nil, "", 0)
	if err != nil {
		return nil, err
	}
	if got.status == 304 && etag != "" {
		return known, nil
	}
	if got.status != 200 {
		return nil, client.core.refusal(got, "")
	}
	client.core.mutex.Lock()
	client.core.etag, client.core.registry = got.header.Get("ETag"), got.raw
	client.core.mutex.Unlock()
	return got.raw, nil
}
