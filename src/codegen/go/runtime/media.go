package callplane

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/textproto"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// Media is a file that is sent with a call.
type Media struct {
	MimeType string
	Filename string
	// Open is called for every attempt to send the file.
	Open func() (io.ReadCloser, error)
	Size int64
	// Ref is an address from which the server fetches the file, instead of Open.
	Ref string
}

// MediaBytes sends bytes as a file.
func MediaBytes(data []byte, mimeType, filename string) Media {
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	return Media{MimeType: mimeType, Filename: filename, Open: open, Size: int64(len(data))}
}

// MediaFile sends a file of this machine. An empty type is guessed from the name.
func MediaFile(path, mimeType string) (Media, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Media{}, err
	}
	if mimeType == "" {
		mimeType = mime.TypeByExtension(filepath.Ext(path))
	}
	if mimeType == "" {
		mimeType = "application/octet-stream"
	}
	open := func() (io.ReadCloser, error) { return os.Open(path) }
	return Media{MimeType: mimeType, Filename: filepath.Base(path), Open: open, Size: info.Size()}, nil
}

// MediaRef names an address from which the server fetches the file.
func MediaRef(uri, mimeType string) Media {
	return Media{MimeType: mimeType, Ref: uri}
}

// MediaSet holds the files of a call by their names.
type MediaSet interface {
	media() map[string]Media
}

// MediaMap is a MediaSet for operations that are called by name.
type MediaMap map[string]Media

func (files MediaMap) media() map[string]Media { return files }

type mediaEntry struct {
	Name     string `json:"name"`
	MimeType string `json:"mimeType"`
	Ref      string `json:"ref,omitempty"`
	Part     string `json:"part,omitempty"`
}

// sortedMedia leaves out files that were not set.
func sortedMedia(files map[string]Media) []mediaEntry {
	entries := []mediaEntry{}
	for name, file := range files {
		entry := mediaEntry{Name: name, MimeType: file.MimeType, Ref: file.Ref}
		if file.Ref == "" && file.Open == nil {
			continue
		}
		if file.Ref == "" {
			entry.Part = name
		}
		entries = append(entries, entry)
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name < entries[j].Name })
	return entries
}

// checkSizes comes before anything is sent: a server that refuses a file on the way closes the connection.
func checkSizes(files map[string]Media, limits map[string]int64) error {
	for name, file := range files {
		if limit, limited := limits[name]; limited && file.Ref == "" && file.Size > limit {
			message := fmt.Sprintf("The file %q is larger than the %d bytes allowed here. Send a smaller one.", name, limit)
			return &Fault{Code: "MEDIA_TOO_LARGE", Message: message}
		}
	}
	return nil
}

// requestBody can be sent more than once.
type requestBody struct {
	contentType string
	size        int64
	open        func() (io.ReadCloser, error)
}

func bytesBody(contentType string, data []byte) *requestBody {
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	return &requestBody{contentType: contentType, size: int64(len(data)), open: open}
}

// multipartBody puts the envelope first, so that the server knows the limits of each file before it arrives.
func multipartBody(envelope []byte, entries []mediaEntry, files map[string]Media) *requestBody {
	boundary := newUUID()
	head := partHead(boundary, `name="envelope"`, "application/json")
	size := int64(len(head) + len(envelope))
	heads := map[string]string{}
	for _, entry := range entries {
		if entry.Part == "" {
			continue
		}
		file := files[entry.Name]
		filename := file.Filename
		if filename == "" {
			filename = entry.Name
		}
		disposition := fmt.Sprintf(`name="%s"; filename="%s"`, quoted(entry.Name), quoted(filename))
		heads[entry.Name] = "\r\n" + partHead(boundary, disposition, entry.MimeType)
		size += int64(len(heads[entry.Name])) + file.Size
	}
	end := "\r\n--" + boundary + "--\r\n"
	open := func() (io.ReadCloser, error) {
		parts := multiCloser{}
		readers := []io.Reader{strings.NewReader(head), bytes.NewReader(envelope)}
		for _, entry := range entries {
			if entry.Part == "" {
				continue
			}
			file, err := files[entry.Name].Open()
			if err != nil {
				_ = parts.Close()
				return nil, err
			}
			parts.closers = append(parts.closers, file)
			readers = append(readers, strings.NewReader(heads[entry.Name]), io.LimitReader(file, files[entry.Name].Size))
		}
		parts.Reader = io.MultiReader(append(readers, strings.NewReader(end))...)
		return parts, nil
	}
	return &requestBody{contentType: "multipart/form-data; boundary=" + boundary, size: size + int64(len(end)), open: open}
}

func partHead(boundary, disposition, mimeType string) string {
	clean := strings.NewReplacer("\r", "", "\n", "").Replace(textproto.TrimString(mimeType))
	return fmt.Sprintf("--%s\r\nContent-Disposition: form-data; %s\r\nContent-Type: %s\r\n\r\n", boundary, disposition, clean)
}

// quoted writes names in a form as browsers do.
func quoted(name string) string {
	return strings.NewReplacer("\r", "%0D", "\n", "%0A", `"`, "%22").Replace(name)
}

type multiCloser struct {
	io.Reader
	closers []io.Closer
}

func (parts multiCloser) Close() error {
	var first error
	for _, closer := range parts.closers {
		if err := closer.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}
