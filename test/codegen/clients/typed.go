// A program that uses the typed client of a server, and prints what it got.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"example/callplane"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	ctx := context.Background()
	told := []any{}
	warnings := []any{}
	settings := callplane.Settings{OnDeprecated: func(message string) { warnings = append(warnings, message) }}
	client := must(callplane.New(os.Args[1], settings))

	red := callplane.OrdersFindArgsColorRed
	found := must(client.Orders.Find.Call(ctx, callplane.OrdersFindArgs{OrderId: "7", Color: &red}))
	names := []string{}
	for _, child := range *found.Children {
		names = append(names, child.Name)
	}
	var note *string = found.Note
	told = append(told, found.Name, note, names)

	run := must(client.Reports.Make.Start(ctx, map[string]any{}))
	told = append(told, must(client.Reports.Make.Resume(run.RequestID()).Result(ctx))+1)

	stream := must(client.Numbers.Count.Call(ctx, callplane.NumbersCountArgs{To: 2}))
	stream.All()(func(frame callplane.NumbersCountFrame, err error) bool {
		told = append(told, must(frame, err).N)
		return true
	})
	content := must(client.Files.Export.Call(ctx, map[string]any{}))
	told = append(told, string(must(content.ReadAll())))
	file := callplane.FilesDescribeMedia{File: callplane.MediaBytes([]byte("12345"), "text/plain", "")}
	told = append(told, must(client.Files.Describe.Call(ctx, map[string]any{}, callplane.WithMedia(file))))
	told = append(told, must(client.V2.Orders.Find.Call(ctx, callplane.OrdersFindV2Args{OrderId: 8}))+0.5)
	told = append(told, must(client.Shapes.Echo.Call(ctx, callplane.ShapesEchoArgs{AB: 1})).AB)

	_, err := client.Orders.Find.Call(ctx, callplane.OrdersFindArgs{OrderId: "none"})
	var fault *callplane.Fault
	if errors.As(err, &fault) && callplane.IsFault(err, fault.Code) {
		told = append(told, fault.Code)
	}
	// Found without a server: nothing listens there.
	nowhere := must(callplane.New("http://127.0.0.1:1", settings))
	large := callplane.FilesDescribeMedia{File: callplane.MediaBytes(make([]byte, 1001), "text/plain", "")}
	_, err = nowhere.Files.Describe.Call(ctx, map[string]any{}, callplane.WithMedia(large))
	if errors.As(err, &fault) {
		told = append(told, fault.Code)
	}
	must(client.Orders.Old.Call(ctx, callplane.OrdersOldArgs{OrderId: "1"}))
	must(client.Orders.Old.Call(ctx, callplane.OrdersOldArgs{OrderId: "2"}))
	told = append(told, warnings...)
	if err := json.NewEncoder(os.Stdout).Encode(told); err != nil {
		panic(err)
	}
}
