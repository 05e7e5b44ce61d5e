/** Turns a valid request into the bytes of a hostile one: in its values, its text, its head or its framing. */
import type { Random } from './random.ts'
import type { Draft } from './requests.ts'

export interface Hostile {
  bytes: Buffer
  method: string
  /**
   * True if the server cannot parse the request or find its end. It may close without a response, or send a bare 400.
   */
  broken: boolean
}

export interface Target {
  host: string
  tokens: readonly string[]
}

export function makeHostile(draft: Draft, random: Random, target: Target): Hostile {
  const values = random.chance(0.5) ? mutateValue(draft.body, random) : draft.body
  const text = values === undefined ? undefined : typeof values === 'string' ? values : (JSON.stringify(values) ?? '')
  const body = text === undefined ? undefined : mutateText(text, random)
  const head = mutateHead(draft, random, target)
  return { ...frame(head, body, random), method: head.method }
}

const ODD_TEXTS = [
  '',
  '__proto__',
  'constructor',
  '\u0000',
  '\ud800',
  '😀'.repeat(50),
  '../../etc/passwd',
  'a'.repeat(5_000),
  '%00',
  '1e999',
  'v1:Calculator.Add',
  '-0',
  '<script>',
  "' OR 1=1 --",
  '\u202e',
  '9007199254740993',
]
const ODD_VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1e308,
  -1e308,
  2 ** 53 + 2,
  1.5,
  [],
  {},
  [[]],
  [null],
  { '': {} },
]

/** Replaces one place in a value. */
function mutateValue(value: unknown, random: Random): unknown {
  if (value === undefined) return undefined
  if (typeof value !== 'object' || value === null || random.chance(0.15)) return oddValue(value, random)
  if (Array.isArray(value)) {
    const at = random.below(value.length + 1)
    return value.toSpliced(at, 1, mutateValue(value[at] ?? null, random))
  }
  const keys = Object.keys(value)
  const key = keys.length > 0 && random.chance(0.85) ? random.pick(keys) : random.pick(ODD_TEXTS)
  const { [key]: member, ...rest } = value as Record<string, unknown>
  if (random.chance(0.1)) return rest
  // `fromEntries` creates an own property even for the key __proto__.
  return Object.fromEntries([...Object.entries(rest), [key, mutateValue(member ?? null, random)]])
}

function oddValue(value: unknown, random: Random): unknown {
  switch (random.below(6)) {
    case 0:
      return nested(value, random.pick([3, 30, 63, 64, 65, 500]), random.chance(0.5))
    case 1:
      return Array.from({ length: random.pick([1, 100, 2_000]) }, () => value)
    case 2:
      return random.pick(ODD_TEXTS)
    case 3:
      return typeof value === 'number' ? String(value) : JSON.stringify(value)
    default:
      return random.pick(ODD_VALUES)
  }
}

function nested(value: unknown, levels: number, inLists: boolean): unknown {
  let whole = value
  for (let level = 0; level < levels; level++) whole = inLists ? [whole] : { and: whole }
  return whole
}

function mutateText(text: string, random: Random): Buffer {
  const bytes = Buffer.from(text)
  switch (random.below(8)) {
    case 0: {
      for (let flips = 1 + random.below(3); flips > 0 && bytes.length > 0; flips--) {
        const at = random.below(bytes.length)
        bytes[at] = (bytes[at] as number) ^ (1 << random.below(8))
      }
      return bytes
    }
    case 1:
      return bytes.subarray(0, random.below(bytes.length + 1))
    case 2: {
      const at = random.below(bytes.length + 1)
      const odd = random.pick(['\ufeff', '\u0000', '"', '}', ',', '\\ud800', '\xff', '1e400', '--x', '\r\n'])
      return Buffer.concat([
        bytes.subarray(0, at),
        Buffer.from(odd, random.chance(0.5) ? 'latin1' : 'utf8'),
        bytes.subarray(at),
      ])
    }
    case 3:
      // A duplicate key.
      return Buffer.from(text.replace(/"(\w+)":/, (found, key) => `${found}0,"${key}":`))
    default:
      return bytes
  }
}

interface Head {
  method: string
  path: string
  version: string
  lines: string[]
  broken: boolean
}

function mutateHead({ method, path, headers }: Draft, random: Random, { host, tokens }: Target): Head {
  const lines = [`Host: ${host}`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)]
  if (tokens.length > 0 && random.chance(0.8)) lines.push(`Authorization: Bearer ${random.pick(tokens)}`)
  const head: Head = { method, path, version: 'HTTP/1.1', lines, broken: false }
  if (random.chance(0.6)) return head
  switch (random.below(12)) {
    case 0:
      return { ...head, path: oddPath(path, random) }
    case 1:
      return { ...head, method: random.pick(['PUT', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE', 'DELETE', 'GET', 'POST']) }
    case 2:
      return { ...head, method: random.pick(['get', 'FOO', 'POST ', '']), broken: true }
    case 3:
      return { ...head, version: random.pick(['HTTP/1.0', 'HTTP/9.9', 'HTTP/2.0', '']), broken: true }
    case 4:
      return { ...head, lines: [...lines, random.pick(['Host: other.example', 'Host: '])], broken: true }
    case 5:
      return { ...head, lines: lines.slice(1), broken: true }
    case 6:
      return {
        ...head,
        lines: lines.map((line) => line.replace(/^(Content-Type|Accept): .*/, `$1: ${random.pick(ODD_TYPES)}`)),
      }
    case 7:
      return { ...head, lines: [...lines, `X-Odd: ${'a'.repeat(random.pick([10, 8_000, 40_000]))}`], broken: true }
    case 8:
      return { ...head, lines: [...lines, random.pick(ODD_LINES)], broken: true }
    default:
      return { ...head, lines: [...lines, random.pick(ODD_HEADERS)] }
  }
}

const ODD_TYPES = [
  'text/plain',
  'application/json; charset=latin1',
  'application/json;',
  'multipart/form-data',
  'multipart/form-data; boundary=',
  'multipart/form-data; boundary="a b"',
  'application/x-www-form-urlencoded',
  '*/*;q=2',
  'application/json, application/json',
  '\u00ff/\u00ff',
]
const ODD_LINES = [
  'NoColon',
  ': empty',
  'X Space: 1',
  'X-Nul: \u0000',
  ' folded: 1',
  'Content-Length: 1',
  'Transfer-Encoding: chunked',
]
const ODD_HEADERS = [
  'Authorization: Bearer',
  'Authorization: Basic !!!',
  'Authorization: Bearer a, Bearer b',
  'Content-Encoding: gzip',
  'Origin: null',
  'Origin: http://evil.example',
  'Sec-Fetch-Site: cross-site',
  'Expect: 100-continue',
  'Expect: odd',
  'Upgrade: websocket',
  'If-None-Match: *',
  'Range: bytes=9-1,-0',
  'Prefer: wait=0.5, wait=abc',
  'Last-Event-ID: -1',
  'traceparent: 00-zz',
  'Idempotency-Key: \u00e9',
  'Mcp-Session-Id: x',
  'MCP-Protocol-Version: 1999-01-01',
  'X-Forwarded-Proto: javascript',
  'Cookie: a=b; a=c',
]

function oddPath(path: string, random: Random): string {
  const odd = random.pick([
    '%',
    '%zz',
    '%00',
    '%2f',
    '%2e%2e',
    '%ff%fe',
    '//',
    '/../',
    ';x',
    '?a=%&a=1&&=',
    '#x',
    '\u00e9',
    '*',
    '%F0%9F%98%80',
    'a'.repeat(9_000),
  ])
  const at = 1 + random.below(path.length)
  return path.slice(0, at) + Buffer.from(odd).toString('latin1') + path.slice(at)
}

function frame(
  { method, path, version, lines, broken }: Head,
  body: Buffer | undefined,
  random: Random,
): Omit<Hostile, 'method'> {
  const head = (more: readonly string[]) =>
    Buffer.from(`${method} ${path} ${version}\r\n${[...lines, ...more].join('\r\n')}\r\n\r\n`, 'latin1')
  const close = 'Connection: close'
  if (body === undefined) return { bytes: head([close]), broken }
  const length = `Content-Length: ${body.length}`
  switch (random.below(14)) {
    case 0:
      return { bytes: Buffer.concat([head([close, `Content-Length: ${body.length + 7}`]), body]), broken: true }
    case 1:
      return {
        bytes: Buffer.concat([head([close, `Content-Length: ${Math.max(0, body.length - 3)}`]), body]),
        broken: true,
      }
    case 2:
      return {
        bytes: Buffer.concat([
          head([close, random.pick(['Content-Length: -1', 'Content-Length: x', 'Content-Length: 1, 2'])]),
          body,
        ]),
        broken: true,
      }
    case 3:
      return { bytes: Buffer.concat([head([close, length, 'Transfer-Encoding: chunked']), body]), broken: true }
    case 4:
      return {
        bytes: Buffer.concat([head([close, 'Transfer-Encoding: chunked']), chunked(body), Buffer.from('0\r\n\r\n')]),
        broken,
      }
    case 5:
      return {
        bytes: Buffer.concat([head([close, 'Transfer-Encoding: chunked']), chunked(body), Buffer.from('zz\r\n')]),
        broken: true,
      }
    case 6: {
      // Pipelined: the same request again before the first response.
      const first = Buffer.concat([head([length]), body])
      return { bytes: Buffer.concat([first, head([close, length]), body]), broken }
    }
    default:
      return { bytes: Buffer.concat([head([close, length]), body]), broken }
  }
}

function chunked(body: Buffer): Buffer {
  const half = body.length >> 1
  const pieces = [body.subarray(0, half), body.subarray(half)].filter((piece) => piece.length > 0)
  return Buffer.concat(
    pieces.flatMap((piece) => [Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]),
  )
}
