// A program that does what each line of its input says with a generated client, and prints what came of it.
package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"time"

	"example/callplane"
)

type wish struct {
	Do             string
	Op             string
	ID             string `json:"id"`
	Args           map[string]any
	Next           string
	Take           int
	Reconnect      *bool
	Command        string
	TimeoutMs      int
	IdempotencyKey string
	RequestID      string `json:"requestId"`
	SessionID      string `json:"sessionId"`
	Media          map[string]struct{ Text, Type, Name string }
}

type setup struct {
	Token   any
	Trusted []string
	Retries *int
}

func (given wish) options() []callplane.CallOption {
	options := []callplane.CallOption{}
	if given.IdempotencyKey != "" {
		options = append(options, callplane.WithIdempotencyKey(given.IdempotencyKey))
	}
	if given.RequestID != "" {
		options = append(options, callplane.WithRequestID(given.RequestID))
	}
	if given.SessionID != "" {
		options = append(options, callplane.WithSessionID(given.SessionID))
	}
	if given.Reconnect != nil && !*given.Reconnect {
		options = append(options, callplane.WithoutReconnect())
	}
	if given.Media != nil {
		files := callplane.MediaMap{}
		for name, file := range given.Media {
			files[name] = callplane.MediaBytes([]byte(file.Text), file.Type, file.Name)
		}
		options = append(options, callplane.WithMedia(files))
	}
	return options
}

func tell(ctx context.Context, client *callplane.Client, given wish) (map[string]any, error) {
	if given.Args == nil {
		given.Args = map[string]any{}
	}
	switch given.Do {
	case "call":
		result, err := client.Call(ctx, given.Op, given.Args, given.options()...)
		return map[string]any{"result": result}, err
	case "registry":
		counts := []int{}
		for i := 0; i < 2; i++ {
			document, err := client.Registry(ctx)
			if err != nil {
				return nil, err
			}
			var read struct{ Operations []any }
			if err := json.Unmarshal(document, &read); err != nil {
				return nil, err
			}
			counts = append(counts, len(read.Operations))
		}
		return map[string]any{"operations": counts}, nil
	case "stream":
		return frames(ctx, client, given)
	}
	run := client.Resume(given.ID)
	if given.Do == "start" {
		started, err := client.Start(ctx, given.Op, given.Args, given.options()...)
		if err != nil {
			return nil, err
		}
		run = started
	}
	return follow(ctx, run, given.Next)
}

func frames(ctx context.Context, client *callplane.Client, given wish) (map[string]any, error) {
	stream, err := client.Stream(ctx, given.Op, given.Args, given.options()...)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	all := []json.RawMessage{}
	for stream.Next() {
		all = append(all, stream.Frame())
		if len(all) == 1 && given.Command != "" {
			if _, err := client.Call(ctx, given.Command, map[string]any{}, given.options()...); err != nil {
				return nil, err
			}
		}
		if len(all) == given.Take {
			break
		}
	}
	return map[string]any{"frames": all}, stream.Err()
}

func follow(ctx context.Context, run *callplane.Run[json.RawMessage], next string) (map[string]any, error) {
	told := map[string]any{"id": run.RequestID()}
	if strings.Contains(next, "progress") {
		all := []any{}
		err := run.Watch(ctx, func(now callplane.Progress) bool {
			var message any
			if now.Message != "" {
				message = now.Message
			}
			all = append(all, map[string]any{"state": now.State, "fraction": now.Fraction, "message": message})
			return true
		})
		if err != nil {
			return nil, err
		}
		told["progress"] = all
	}
	if strings.Contains(next, "cancel") {
		now, err := run.Cancel(ctx)
		if err != nil {
			return nil, err
		}
		told["cancel"] = now.State
	}
	if strings.Contains(next, "result") {
		result, err := run.Result(ctx)
		if err != nil {
			return nil, err
		}
		told["result"] = result
	}
	if strings.Contains(next, "content") {
		content := run.Content(ctx)
		data, err := content.ReadAll()
		if err != nil {
			return nil, err
		}
		told["bytes"], told["mimeType"] = base64.StdEncoding.EncodeToString(data), content.MimeType
	}
	return told, nil
}

func outcome(told map[string]any, err error) map[string]any {
	var fault *callplane.Fault
	if !errors.As(err, &fault) {
		if err != nil {
			panic(err)
		}
		return told
	}
	var wait, remedy any
	if fault.RetryAfter > 0 {
		wait = fault.RetryAfter.Milliseconds()
	}
	if fault.Remedy != "" {
		remedy = fault.Remedy
	}
	return map[string]any{
		"fault":        fault.Code,
		"status":       fault.Status,
		"retryable":    fault.Retryable,
		"retryAfterMs": wait,
		"remedy":       remedy,
		"hasId":        fault.RequestID != "",
	}
}

func settings(given setup) callplane.Settings {
	chosen := callplane.Settings{TrustedOrigins: given.Trusted}
	if given.Retries != nil {
		chosen.Retries = *given.Retries
		if *given.Retries == 0 {
			chosen.Retries = -1
		}
	}
	switch token := given.Token.(type) {
	case string:
		chosen.Token = token
	case []any:
		// Several tokens are those that a source returns, one after the other.
		chosen.TokenSource = func(context.Context) (string, error) {
			next := token[0].(string)
			if len(token) > 1 {
				token = token[1:]
			}
			return next, nil
		}
	}
	return chosen
}

func tellAll(line []byte) []any {
	var address string
	var given setup
	var wishes []wish
	if err := json.Unmarshal(line, &[]any{&address, &given, &wishes}); err != nil {
		panic(err)
	}
	client, err := callplane.New(address, settings(given))
	if err != nil {
		panic(err)
	}
	all := []any{}
	for _, one := range wishes {
		ctx, cancel := context.Background(), context.CancelFunc(func() {})
		if one.TimeoutMs > 0 {
			ctx, cancel = context.WithTimeout(ctx, time.Duration(one.TimeoutMs)*time.Millisecond)
		}
		all = append(all, outcome(tell(ctx, client, one)))
		cancel()
	}
	return all
}

func main() {
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		if err := json.NewEncoder(os.Stdout).Encode(tellAll(line)); err != nil {
			panic(err)
		}
	}
}
