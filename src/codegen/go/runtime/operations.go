package callplane

import (
	"context"
	"encoding/json"
)

// Ptr returns a pointer to a value, for fields that may be left out.
func Ptr[T any](value T) *T { return &value }

// As turns a value of several possible types, such as a field of type any, into one of them.
func As[T any](value any) (T, error) {
	var typed T
	data, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(data, &typed)
	}
	return typed, err
}

// Operation is called for its result, or started for a run to follow.
type Operation[A, R any] struct {
	client *core
	op     opInfo
}

// Name is the name of the operation in the registry.
func (operation Operation[A, R]) Name() string { return operation.op.name }

// Call returns the result. It waits as long as its context allows.
func (operation Operation[A, R]) Call(ctx context.Context, args A, options ...CallOption) (R, error) {
	current, err := operation.client.start(ctx, operation.op, args, options, true)
	if err != nil {
		var none R
		return none, err
	}
	return resultOf[R](ctx, current)
}

// Start returns a run to follow. Keep its RequestID to follow it later, also from another program.
func (operation Operation[A, R]) Start(ctx context.Context, args A, options ...CallOption) (*Run[R], error) {
	current, err := operation.client.start(ctx, operation.op, args, options, false)
	if err != nil {
		return nil, err
	}
	return &Run[R]{call: current}, nil
}

// Content returns the result as bytes, for operations that return a file.
func (operation Operation[A, R]) Content(ctx context.Context, args A, options ...CallOption) (*Content, error) {
	current, err := operation.client.start(ctx, operation.op, args, options, !operation.op.chunked)
	if err != nil {
		return nil, err
	}
	return newContent(ctx, current), nil
}

// Resume follows a call that was started earlier.
func (operation Operation[A, R]) Resume(requestID string) *Run[R] {
	return &Run[R]{call: operation.client.resumed(requestID, operation.op)}
}

// ContentOperation returns bytes. They can be read while the rest is still being made.
type ContentOperation[A, R any] struct {
	inner Operation[A, R]
}

// Name is the name of the operation in the registry.
func (operation ContentOperation[A, R]) Name() string { return operation.inner.Name() }

// Call returns the bytes.
func (operation ContentOperation[A, R]) Call(ctx context.Context, args A, options ...CallOption) (*Content, error) {
	return operation.inner.Content(ctx, args, options...)
}

// Start returns a run to follow.
func (operation ContentOperation[A, R]) Start(ctx context.Context, args A, options ...CallOption) (*Run[R], error) {
	return operation.inner.Start(ctx, args, options...)
}

// Resume follows a call that was started earlier.
func (operation ContentOperation[A, R]) Resume(requestID string) *Run[R] {
	return operation.inner.Resume(requestID)
}

// StreamOperation returns a stream of frames.
type StreamOperation[A, F any] struct {
	client *core
	op     opInfo
}

// Name is the name of the operation in the registry.
func (operation StreamOperation[A, F]) Name() string { return operation.op.name }

// Call subscribes. Close the stream when you do not need it any more.
func (operation StreamOperation[A, F]) Call(ctx context.Context, args A, options ...CallOption) (*Stream[F], error) {
	subscription, err := operation.client.subscribe(ctx, operation.op, args, options)
	if err != nil {
		return nil, err
	}
	return &Stream[F]{ctx: ctx, subscription: subscription}, nil
}

// Run is a call that the server has accepted.
type Run[R any] struct {
	call *call
}

// RequestID is the id of the call.
func (run *Run[R]) RequestID() string { return run.call.requestID }

// Poll asks once. It returns the fault if the call has failed.
func (run *Run[R]) Poll(ctx context.Context) (Progress, error) {
	if err := run.call.poll(ctx, nil, 0); err != nil {
		return Progress{}, err
	}
	return progressIn(run.call.last), nil
}

// Watch calls tell with every change until the end of the call, or until tell returns false.
func (run *Run[R]) Watch(ctx context.Context, tell func(Progress) bool) error {
	return run.call.watch(ctx, tell)
}

// Result waits for the end. The result or the fault can be asked for again.
func (run *Run[R]) Result(ctx context.Context) (R, error) { return resultOf[R](ctx, run.call) }

// Content returns the result as bytes.
func (run *Run[R]) Content(ctx context.Context) *Content { return newContent(ctx, run.call) }

// Cancel asks the server to stop the call. A call that has ended stays as it is.
func (run *Run[R]) Cancel(ctx context.Context) (Progress, error) { return run.call.cancel(ctx) }

func resultOf[R any](ctx context.Context, current *call) (R, error) {
	var value R
	raw, err := current.result(ctx)
	if err != nil {
		return value, err
	}
	if err := json.Unmarshal(raw, &value); err != nil {
		message := "The result does not fit the type that this client was generated with (" + err.Error() + "). Generate it again."
		return value, &Fault{Code: "RESULT_MISMATCH", Message: message, RequestID: current.requestID, inner: err}
	}
	return value, nil
}

// Stream is a stream of frames. It reconnects, and it subscribes again before the subscription expires.
type Stream[F any] struct {
	ctx          context.Context
	subscription *subscription
	frame        F
	err          error
}

// RequestID is the id of the current subscription.
func (stream *Stream[F]) RequestID() string { return stream.subscription.current.requestID }

// Next waits for the next frame. It returns false at the end of the stream and after a failure: see Err.
func (stream *Stream[F]) Next() bool {
	if stream.err != nil {
		return false
	}
	data, ok, err := stream.subscription.next(stream.ctx)
	if err != nil || !ok {
		stream.err = err
		return false
	}
	var frame F
	if raw, binary := any(&frame).(*[]byte); binary {
		*raw = data
	} else if !json.Valid(data) {
		stream.err = badReply(stream.RequestID(), 200, "A frame of the stream cannot be decoded.")
		return false
	} else if err := json.Unmarshal(data, &frame); err != nil {
		message := "A frame does not fit the type that this client was generated with (" + err.Error() + "). Generate it again."
		stream.err = &Fault{Code: "FRAME_MISMATCH", Message: message, RequestID: stream.RequestID(), inner: err}
		return false
	}
	stream.frame = frame
	return true
}

// Frame is the frame that Next found.
func (stream *Stream[F]) Frame() F { return stream.frame }

// Err is the failure that ended the stream, or nil.
func (stream *Stream[F]) Err() error { return stream.err }

// Close unsubscribes.
func (stream *Stream[F]) Close() error {
	stream.subscription.close()
	return nil
}

// All is for a loop over the frames in Go 1.23 and newer: for frame, err := range stream.All(). It closes the stream.
func (stream *Stream[F]) All() func(yield func(F, error) bool) {
	return func(yield func(F, error) bool) {
		defer stream.Close()
		for stream.Next() {
			if !yield(stream.frame, nil) {
				return
			}
		}
		if stream.err != nil {
			var none F
			yield(none, stream.err)
		}
	}
}
