/** A program of Python, with its standard library only. */
import { envelopeOf } from './envelope.ts'
import { pythonJson, quoted } from './quoting.ts'
import type { Snippet, SnippetCall } from './snippet.ts'

export const python: Snippet = {
  id: 'python',
  title: 'Python',
  write(call) {
    const { files, withToken, url, entry } = call
    const isStream = entry.executionModel === 'stream'
    const imports = ['json', ...(withToken ? ['os'] : []), ...(files.length > 0 ? ['uuid'] : []), 'urllib.request']
    return [
      `import ${imports.join(', ')}`,
      '',
      ...(files.length > 0 ? multipart(call) : plain(call)),
      ...(withToken ? ['headers["Authorization"] = "Bearer " + os.environ["CALLPLANE_TOKEN"]'] : []),
      '',
      `request = urllib.request.Request(${quoted(`${url}/call`)}, body, headers)`,
      'with urllib.request.urlopen(request) as response:',
      '    answer = json.load(response)',
      ...(isStream ? FRAMES : result(call)),
    ].join('\n')
  },
}

function plain(call: SnippetCall): string[] {
  return [`body = ${pythonJson(envelopeOf(call))}.encode()`, headersOf(call, '"application/json"')]
}

function headersOf({ entry }: SnippetCall, type: string): string {
  const waiting = entry.executionModel === 'async' ? ', "Prefer": "wait=60"' : ''
  return `headers = {"Content-Type": ${type}${waiting}}`
}

function multipart(call: SnippetCall): string[] {
  const parts = [
    `part("envelope", "application/json", ${pythonJson(envelopeOf(call))}.encode())`,
    ...call.files.map(
      ({ name, mimeType, path }) => `part(${quoted(name)}, ${quoted(mimeType)}, open(${quoted(path)}, "rb").read())`,
    ),
  ]
  return [
    'boundary = uuid.uuid4().hex',
    'def part(name, kind, data):',
    '    head = f\'--{boundary}\\r\\nContent-Disposition: form-data; name="{name}"\\r\\nContent-Type: {kind}\\r\\n\\r\\n\'',
    '    return head.encode() + data + b"\\r\\n"',
    '',
    `body = ${parts.join(' + ')} + f"--{boundary}--\\r\\n".encode()`,
    headersOf(call, '"multipart/form-data; boundary=" + boundary'),
  ]
}

function result({ entry }: SnippetCall): string[] {
  const waiting = [
    'while answer["state"] not in ("complete", "error"):',
    '    request = urllib.request.Request(answer["location"]["uri"], headers=headers)',
    '    with urllib.request.urlopen(request) as response:',
    '        answer = json.load(response)',
  ]
  return [
    ...(entry.executionModel === 'async' ? waiting : []),
    'print(json.dumps(answer["result"] if "result" in answer else answer))',
  ]
}

const FRAMES = [
  'stream = answer["stream"]',
  'request = urllib.request.Request(stream["location"].replace("ws", "http", 1))',
  'request.add_header("Accept", "text/event-stream")',
  'request.add_header("Authorization", "OTK " + stream["auth"]["credential"])',
  'with urllib.request.urlopen(request) as response:',
  '    event = ""',
  '    for line in response:',
  '        field, _, value = line.decode().rstrip("\\n").partition(": ")',
  '        if field == "event":',
  '            event = value',
  '        elif field == "data" and event == "frame":',
  '            print(value, flush=True)',
]
