/** A program of Go, with its standard library only. */
import { envelopeOf } from './envelope.ts'
import { goJson, quoted } from './quoting.ts'
import type { Snippet, SnippetCall } from './snippet.ts'

export const go: Snippet = {
  id: 'go',
  title: 'Go',
  write(call) {
    const { files, entry } = call
    const isStream = entry.executionModel === 'stream'
    const lines = [
      ...(files.length > 0 ? multipart(call) : [`\tbody := strings.NewReader(${goJson(envelopeOf(call))})`]),
      ...request(call),
      ...(isStream ? FRAMES : answer(call)),
    ]
    const text = lines.join('\n')
    const imports = packagesOf(call)
      .map((path) => `\t"${path}"`)
      .join('\n')
    return `package main\n\nimport (\n${imports}\n)\n\nfunc main() {\n${text}\n}\n\n${CHECK}`
  },
}

function packagesOf({ files, withToken, entry }: SnippetCall): string[] {
  const isStream = entry.executionModel === 'stream'
  const packages = ['encoding/json', 'fmt', 'net/http']
  if (files.length > 0) packages.push('bytes', 'io', 'mime/multipart', 'net/textproto')
  if (files.length > 0 || withToken) packages.push('os')
  if (files.length === 0 || isStream) packages.push('strings')
  if (isStream) packages.push('bufio')
  return packages.sort()
}

const CHECK = `func check[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}`

function request({ url, entry, files, withToken }: SnippetCall): string[] {
  const type = files.length > 0 ? 'form.FormDataContentType()' : '"application/json"'
  return [
    `\trequest := check(http.NewRequest("POST", ${quoted(`${url}/call`)}, body))`,
    `\trequest.Header.Set("Content-Type", ${type})`,
    ...(entry.executionModel === 'async' ? ['\trequest.Header.Set("Prefer", "wait=60")'] : []),
    ...(withToken ? ['\trequest.Header.Set("Authorization", "Bearer "+os.Getenv("CALLPLANE_TOKEN"))'] : []),
    '\tresponse := check(http.DefaultClient.Do(request))',
  ]
}

function answer({ entry }: SnippetCall): string[] {
  const fields = [
    '\tvar answer struct {',
    '\t\tState    string',
    '\t\tResult   json.RawMessage',
    '\t\tError    json.RawMessage',
    '\t\tLocation struct{ URI string }',
    '\t}',
    '\tcheck(0, json.NewDecoder(response.Body).Decode(&answer))',
  ]
  const waiting = [
    '\tfor answer.State != "complete" && answer.State != "error" {',
    '\t\tpoll := check(http.NewRequest("GET", answer.Location.URI, nil))',
    '\t\tpoll.Header = request.Header',
    '\t\tresponse = check(http.DefaultClient.Do(poll))',
    '\t\tcheck(0, json.NewDecoder(response.Body).Decode(&answer))',
    '\t}',
  ]
  return [
    ...fields,
    ...(entry.executionModel === 'async' ? waiting : []),
    '\tif answer.Error != nil {',
    '\t\tpanic(string(answer.Error))',
    '\t}',
    '\tif answer.Result == nil {',
    '\t\tfmt.Println(answer.Location.URI)',
    '\t} else {',
    '\t\tfmt.Println(string(answer.Result))',
    '\t}',
  ]
}

function multipart(call: SnippetCall): string[] {
  return [
    '\tbody := &bytes.Buffer{}',
    '\tform := multipart.NewWriter(body)',
    '\tpart := func(name, kind string) io.Writer {',
    '\t\thead := textproto.MIMEHeader{"Content-Type": {kind}}',
    '\t\thead.Set("Content-Disposition", `form-data; name="`+name+`"`)',
    '\t\treturn check(form.CreatePart(head))',
    '\t}',
    `\tcheck(part("envelope", "application/json").Write([]byte(${goJson(envelopeOf(call))})))`,
    ...call.files.map(
      ({ name, mimeType, path }) =>
        `\tcheck(part(${quoted(name)}, ${quoted(mimeType)}).Write(check(os.ReadFile(${quoted(path)}))))`,
    ),
    '\tcheck(0, form.Close())',
  ]
}

const FRAMES = [
  '\tvar answer struct {',
  '\t\tStream struct {',
  '\t\t\tLocation string',
  '\t\t\tAuth     struct{ Credential string }',
  '\t\t}',
  '\t}',
  '\tcheck(0, json.NewDecoder(response.Body).Decode(&answer))',
  '\tread := check(http.NewRequest("GET", strings.Replace(answer.Stream.Location, "ws", "http", 1), nil))',
  '\tread.Header.Set("Accept", "text/event-stream")',
  '\tread.Header.Set("Authorization", "OTK "+answer.Stream.Auth.Credential)',
  '\tframes := bufio.NewScanner(check(http.DefaultClient.Do(read)).Body)',
  '\tevent := ""',
  '\tfor frames.Scan() {',
  '\t\tfield, value, _ := strings.Cut(frames.Text(), ": ")',
  '\t\tif field == "event" {',
  '\t\t\tevent = value',
  '\t\t} else if field == "data" && event == "frame" {',
  '\t\t\tfmt.Println(value)',
  '\t\t}',
  '\t}',
]
