/** An MCP client that sends exactly what a test specifies. */
import { createToken } from 'callplane'
import { META, STATELESS_VERSION, TASKS } from '../../src/protocols/mcp/wire.ts'
import type { Site } from './server.ts'

export interface Answered {
  status: number
  headers: Headers
  json: Message
}

/** The members that tests read. No message has all of them; a test that reads a member expects it to be there. */
interface Message {
  id: number
  result: Result
  error: { code: number; message: string; data: { requiredCapabilities: object } }
}

export interface Result extends Called {
  resultType: string
  protocolVersion: string
  capabilities: object
  tools: Several<{ name: string; annotations: object; inputSchema: Schema; outputSchema: Schema }>
  resources: Several<{ uri: string }>
  resourceTemplates: Several<object>
  contents: Several<{ text: string; blob: string }>
  prompts: Several<{ arguments: object }>
  completion: { values: string[] }
  taskId: string
  status: string
  ttlMs: number
  createdAt: string
  inputRequests: { approval: InputRequest; [key: string]: InputRequest }
  requestState: string
  /** Set for a task that has ended. */
  result: Called
  error: Message['error']
}

interface Called {
  isError: boolean
  content: Several<{ text: string; uri: string; resource: object }>
  structuredContent: { error: { code: string }; total: number; operations: { op: string }[] }
  _meta: { 'callplane/error': object }
}

interface Schema {
  required: string[]
  properties: { attachments: { required: string[] } }
}

interface InputRequest {
  method: string
  params: { mode: string; url: string }
}

/** A list of which tests read the first two items. */
type Several<Item> = [Item, Item, ...Item[]]

export interface Asking {
  headers?: Record<string, string | undefined>
  capabilities?: object
  meta?: object
  signal?: AbortSignal
}

/** Two callers that the server knows, as the headers they send. */
export function twoCallers() {
  const [ada, ben] = [createToken(), createToken()]
  const known = (subject: string, hash: string) => ({ kind: 'bearer' as const, subject, hash, scopes: [] })
  const headersOf = (token: string): Record<string, string> => ({ Authorization: `Bearer ${token}` })
  return {
    ada: headersOf(ada.token),
    ben: headersOf(ben.token),
    auth: { tokens: [known('ada', ada.hash), known('ben', ben.hash)] },
  }
}

export const WITH_TASKS = { extensions: { [TASKS]: {} } }

/** Sends a request of the stateless revision. */
export async function ask(
  site: Pick<Site, 'request'>,
  method: string,
  params: object = {},
  asking: Asking = {},
): Promise<Answered> {
  const { capabilities = {}, meta = {}, headers = {} } = asking
  const name = 'name' in params ? params.name : 'uri' in params ? params.uri : 'taskId' in params ? params.taskId : ''
  return send(
    site,
    {
      jsonrpc: '2.0',
      id: 1,
      method,
      params: { ...params, _meta: { [META.version]: STATELESS_VERSION, [META.capabilities]: capabilities, ...meta } },
    },
    {
      'MCP-Protocol-Version': STATELESS_VERSION,
      'Mcp-Method': method,
      ...(name !== '' && { 'Mcp-Name': String(name) }),
      ...headers,
    },
    asking.signal,
  )
}

/** Sends a request of the revisions that begin with `initialize`. */
export function askOlder(
  site: Site,
  method: string,
  params: object = {},
  headers: Record<string, string | undefined> = { 'MCP-Protocol-Version': '2025-11-25' },
): Promise<Answered> {
  return send(site, { jsonrpc: '2.0', id: 1, method, params }, headers)
}

export async function send(
  site: Pick<Site, 'request'>,
  body: unknown,
  headers: Record<string, string | undefined> = {},
  signal?: AbortSignal,
): Promise<Answered> {
  const sent = Object.entries({ 'Content-Type': 'application/json', Accept: 'application/json', ...headers })
  const response = await site.request('/mcp', {
    method: 'POST',
    headers: Object.fromEntries(sent.filter((entry): entry is [string, string] => entry[1] !== undefined)),
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal && { signal }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, json: decode(response, text) as Message }
}

/** Opens a stream and reads it one message at a time. The test can close it. */
export async function listen(site: Site, body: object | undefined, headers: Record<string, string>) {
  const leaving = new AbortController()
  const response = await site.request('/mcp', {
    method: body ? 'POST' : 'GET',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...headers },
    signal: leaving.signal,
    ...(body && { body: JSON.stringify(body) }),
  })
  const pieces = response.body?.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]()
  let text = ''
  return {
    status: response.status,
    leave: () => leaving.abort(),
    async next(): Promise<Streamed> {
      for (;;) {
        const found = /^data: (.*)\n\n/m.exec(text)
        if (found) {
          text = text.slice(found.index + found[0].length)
          return JSON.parse(found[1] as string)
        }
        const piece = await pieces?.next()
        // A response without notifications is a single message.
        if (piece?.done) return JSON.parse(text)
        text += piece?.value ?? ''
      }
    },
  }
}

export interface Streamed {
  id: string
  method: string
  params: { level: string; data: unknown; uri: string; _meta: object; notifications: object; message: string }
  result: Result
}

/** Returns the messages of a stream, or the single message, if any. */
function decode(response: Response, text: string): unknown {
  if (text === '') return undefined
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return JSON.parse(text)
  const lines = text.split('\n').filter((line) => line.startsWith('data: '))
  return lines.map((line) => JSON.parse(line.slice('data: '.length)))
}
