package callplane

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

const maxEvent = 64 << 20

type serverEvent struct {
	event string
	data  string
	id    string
}

// events reads one connection that delivers server-sent events, as WHATWG HTML defines them.
type events struct {
	response *reply
	lines    *bufio.Reader
	id       string
	// skipFeed is set after a carriage return: a line feed that follows belongs to the same line end.
	skipFeed bool
}

// openEvents returns no events, but the status, if the server has none here.
func (client *core) openEvents(ctx context.Context, address, own string) (*events, int, error) {
	header := map[string]string{"Accept": "text/event-stream", "Cache-Control": "no-store"}
	response, err := client.begin(ctx, http.MethodGet, address, header, nil, own, client.settings.idleTimeout())
	if err != nil {
		return nil, 0, err
	}
	if response.StatusCode != 200 || response.mimeType() != "text/event-stream" {
		response.close()
		return nil, response.StatusCode, nil
	}
	return &events{response: response, lines: bufio.NewReaderSize(response.body, 1<<16)}, 200, nil
}

func (source *events) close() { source.response.close() }

func (source *events) next() (serverEvent, error) {
	event := serverEvent{}
	data := []string{}
	size := 0
	for {
		line, err := source.line(maxEvent - size)
		if err != nil {
			return event, err
		}
		size += len(line)
		if line == "" {
			if len(data) > 0 {
				event.data, event.id = strings.Join(data, "\n"), source.id
				return event, nil
			}
			event, size = serverEvent{}, 0
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "data":
			data = append(data, value)
		case "event":
			event.event = value
		case "id":
			if !strings.ContainsRune(value, 0) {
				source.id = value
			}
		}
	}
}

func (source *events) line(limit int) (string, error) {
	var line strings.Builder
	for {
		letter, err := source.lines.ReadByte()
		if err == io.EOF {
			return "", fmt.Errorf("%w: the events ended", errBroken)
		}
		if err != nil {
			return "", fmt.Errorf("%w: %v", errBroken, err)
		}
		skip := source.skipFeed && letter == '\n'
		source.skipFeed = letter == '\r'
		if skip {
			continue
		}
		if letter == '\n' || letter == '\r' {
			return line.String(), nil
		}
		line.WriteByte(letter)
		if line.Len() > limit {
			return "", badReply("", 200, "An event of the stream is too long.")
		}
	}
}
