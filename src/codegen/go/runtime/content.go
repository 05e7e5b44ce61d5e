package callplane

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"
	"strings"
)

// Content is the bytes of a result, as an io.Reader. Every chunk is verified before you get it. A broken download is
// resumed.
type Content struct {
	// MimeType is known after the first read.
	MimeType string
	// Filename is known after the first read, if the server names one.
	Filename string

	ctx     context.Context
	call    *call
	source  pieceSource
	waiting []byte
	failed  error
}

// pieceSource returns io.EOF after the last piece.
type pieceSource interface {
	next(ctx context.Context, content *Content) ([]byte, error)
	close()
}

func newContent(ctx context.Context, current *call) *Content {
	return &Content{ctx: ctx, call: current}
}

// RequestID is the id of the call.
func (content *Content) RequestID() string { return content.call.requestID }

// Read implements io.Reader.
func (content *Content) Read(data []byte) (int, error) {
	for len(content.waiting) == 0 {
		if content.failed != nil {
			return 0, content.failed
		}
		content.waiting, content.failed = content.piece()
	}
	count := copy(data, content.waiting)
	content.waiting = content.waiting[count:]
	return count, nil
}

// ReadAll reads the rest and closes the content.
func (content *Content) ReadAll() ([]byte, error) {
	defer content.Close()
	return io.ReadAll(content)
}

// Save writes a file that appears when it is complete.
func (content *Content) Save(path string) error {
	defer content.Close()
	part := path + ".part"
	file, err := os.Create(part)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		_ = os.Remove(part)
	}
	return err
}

// Close ends the download.
func (content *Content) Close() error {
	if content.source != nil {
		content.source.close()
	}
	if content.failed == nil {
		content.failed = io.ErrClosedPipe
	}
	return nil
}

func (content *Content) piece() ([]byte, error) {
	if content.source == nil {
		source, err := content.locate()
		if err != nil {
			return nil, withRequestID(err, content.call.requestID)
		}
		content.source = source
	}
	piece, err := content.source.next(content.ctx, content)
	if err != nil && err != io.EOF && content.ctx.Err() != nil {
		err = contextFault(content.ctx, content.call.requestID)
	}
	return piece, err
}

var chunksPath = regexp.MustCompile(`/ops/[^/]+/chunks$`)

func (content *Content) locate() (pieceSource, error) {
	current := content.call
	if current.op.chunked && !current.ended() {
		// Chunks can be read while the rest is still being made.
		return &chunkSource{call: current, address: current.pollURL + "/chunks"}, nil
	}
	if err := current.wait(content.ctx); err != nil {
		return nil, err
	}
	if current.last.Location == nil {
		remedy := "Use Result instead."
		return nil, &Fault{Code: "RESULT_IS_A_VALUE", Message: "The result is a value, not a file. " + remedy, Remedy: remedy}
	}
	address, err := current.client.resolve(current.last.Location.URI)
	if err != nil {
		return nil, err
	}
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	if current.op.chunked || (current.client.trusts(address) && chunksPath.MatchString(parsed.Path)) {
		return &chunkSource{call: current, address: address}, nil
	}
	return &objectSource{call: current, address: address, size: -1}, nil
}

type chunkBody struct {
	State    string          `json:"state"`
	MimeType string          `json:"mimeType"`
	Cursor   *string         `json:"cursor"`
	Total    *int64          `json:"total"`
	Encoding string          `json:"encoding"`
	Data     *string         `json:"data"`
	Error    json.RawMessage `json:"error"`
	Chunk    *struct {
		Offset           int64   `json:"offset"`
		Length           int64   `json:"length"`
		Checksum         string  `json:"checksum"`
		ChecksumPrevious *string `json:"checksumPrevious"`
	} `json:"chunk"`
}

// chunkSource asks again for a chunk that did not arrive, by its cursor, so nothing is read twice.
type chunkSource struct {
	call     *call
	address  string
	cursor   string
	previous *string
	offset   int64
	over     bool
}

func (source *chunkSource) close() {}

func (source *chunkSource) next(ctx context.Context, content *Content) ([]byte, error) {
	for !source.over {
		address := source.address
		if source.cursor != "" {
			address += "?cursor=" + url.QueryEscape(source.cursor)
		}
		got, err := source.call.client.ask(ctx, "GET", address, nil, nil, source.call.requestID, 0)
		if err != nil {
			return nil, err
		}
		if got.status >= 400 || got.envelope.State == "error" {
			return nil, source.call.client.refusal(got, source.call.requestID)
		}
		var body chunkBody
		if err := json.Unmarshal(got.raw, &body); err != nil {
			return nil, badReply(source.call.requestID, got.status, "The response is no chunk.")
		}
		if body.MimeType != "" {
			content.MimeType = body.MimeType
		}
		if body.Chunk == nil {
			if err := pause(ctx, pauseOf(got.envelope), source.call.requestID); err != nil {
				return nil, err
			}
			continue
		}
		return source.accept(body)
	}
	return nil, io.EOF
}

// accept verifies a chunk. OpenCALL, "Checksum Chain Semantics".
func (source *chunkSource) accept(body chunkBody) ([]byte, error) {
	id, chunk, at := source.call.requestID, body.Chunk, source.offset
	if body.Data == nil {
		return nil, damaged(id, "a chunk has no data")
	}
	data := []byte(*body.Data)
	if body.Encoding == "base64" {
		decoded, err := base64.StdEncoding.DecodeString(*body.Data)
		if err != nil {
			return nil, damaged(id, "a chunk cannot be decoded")
		}
		data = decoded
	}
	sum := sha256.Sum256(data)
	switch {
	case chunk.Offset != at:
		return nil, damaged(id, "a chunk begins at byte %d instead of %d", chunk.Offset, at)
	case chunk.Length != int64(len(data)):
		return nil, damaged(id, "the chunk at byte %d has %d bytes, not %d", at, len(data), chunk.Length)
	case chunk.Checksum != "sha256:"+hex.EncodeToString(sum[:]):
		return nil, damaged(id, "the chunk at byte %d has a wrong checksum", at)
	case (chunk.ChecksumPrevious == nil) != (source.previous == nil),
		chunk.ChecksumPrevious != nil && *chunk.ChecksumPrevious != *source.previous:
		return nil, damaged(id, "the chunk at byte %d does not follow the one before it", at)
	case body.Cursor != nil && (*body.Cursor == "" || *body.Cursor == source.cursor):
		return nil, damaged(id, "the chunk at byte %d has an invalid cursor", at)
	}
	source.offset += int64(len(data))
	source.previous = &chunk.Checksum
	source.over = body.Cursor == nil
	if !source.over {
		source.cursor = *body.Cursor
	} else if body.Total != nil && *body.Total != source.offset {
		return nil, damaged(id, "the server announced %d bytes and sent %d", *body.Total, source.offset)
	}
	return data, nil
}

func damaged(requestID, format string, values ...any) *Fault {
	message := "The result arrived damaged: " + fmt.Sprintf(format, values...) + ". Discard what you have and fetch it again."
	return &Fault{Code: "DAMAGED_RESULT", Message: message, RequestID: requestID}
}

// objectSource resumes a download where it broke, if the file is still the same.
type objectSource struct {
	call     *call
	address  string
	response *reply
	etag     string
	offset   int64
	size     int64
	failures int
}

func (source *objectSource) close() {
	if source.response != nil {
		source.response.close()
		source.response = nil
	}
}

func (source *objectSource) next(ctx context.Context, content *Content) ([]byte, error) {
	for {
		data, err := source.read(ctx, content)
		if err == nil || err == io.EOF || !errors.Is(err, errBroken) || ctx.Err() != nil {
			return data, withRequestID(err, source.call.requestID)
		}
		source.close()
		resumable := source.offset == 0 || strings.HasPrefix(source.etag, `"`)
		if !resumable || source.failures >= source.call.client.settings.retries() {
			return nil, unreachable(shownOrigin(source.address), source.call.requestID, err)
		}
		if err := pause(ctx, backoff(source.failures), source.call.requestID); err != nil {
			return nil, err
		}
		source.failures++
	}
}

func (source *objectSource) read(ctx context.Context, content *Content) ([]byte, error) {
	if source.response == nil {
		if err := source.open(ctx, content); err != nil {
			return nil, err
		}
	}
	buffer := make([]byte, 1<<16)
	count, err := source.response.body.Read(buffer)
	source.offset += int64(count)
	if count > 0 {
		source.failures = 0
		return buffer[:count], nil
	}
	if err == io.EOF {
		if source.size >= 0 && source.offset != source.size {
			return nil, damaged(source.call.requestID, "the server announced %d bytes and sent %d", source.size, source.offset)
		}
		return nil, io.EOF
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %v", errBroken, err)
	}
	return nil, nil
}

var namedFile = regexp.MustCompile(`filename\*=UTF-8''([^;]+)`)

func (source *objectSource) open(ctx context.Context, content *Content) error {
	header := map[string]string{}
	if source.offset > 0 {
		header["Range"], header["If-Range"] = fmt.Sprintf("bytes=%d-", source.offset), source.etag
	}
	response, err := source.call.client.fetch(ctx, source.address, header, source.call.last.Location.Auth.header())
	if err != nil {
		return err
	}
	id := source.call.requestID
	switch {
	case source.offset == 0 && response.StatusCode == 200:
		source.etag, source.size = response.Header.Get("ETag"), response.ContentLength
		content.MimeType = response.Header.Get("Content-Type")
		if match := namedFile.FindStringSubmatch(response.Header.Get("Content-Disposition")); match != nil {
			if name, err := url.PathUnescape(match[1]); err == nil {
				// Only the last part: a server does not choose the folder.
				content.Filename = name[strings.LastIndexAny(name, `/\`)+1:]
			}
		}
		source.response = response
		return nil
	case source.offset > 0 && response.StatusCode == 206:
		if strings.HasPrefix(response.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", source.offset)) {
			source.response = response
			return nil
		}
		err = damaged(id, "the server sent another range")
	case source.offset > 0 && response.StatusCode == 200:
		err = damaged(id, "the file changed while it was fetched")
	default:
		err = source.call.unavailable(response.StatusCode)
	}
	response.close()
	return err
}
