/**
 * The requests that the load generator sends and the replies that it expects. Every call has its own arguments and
 * request id.
 */
import { headersOf, TOOL_LIST, WIRES, type Wire, type WireName } from './wires.ts'

export interface Exchange {
  /** The whole request as sent on the wire. */
  request: string
  status: string
  bodyStart: string
  /** The expected end of a body that begins with an id the server chose. */
  bodyEnd?: string
}

/** Created once per run; each call returns the next request. */
type Traffic = (operations: readonly string[]) => () => Exchange

type AddTraffic = { [Name in WireName]: () => () => Exchange }

let run = 0

/** A sequence of additions for each wire format. */
const additions = Object.fromEntries(
  Object.entries(WIRES).map(([name, wire]) => [name, () => addTraffic(wire)]),
) as AddTraffic

export const TRAFFIC = {
  ...additions,
  sync: additions.opencall,
  async: () => callTraffic(() => 'v1:Calculator.AddLater', 'Prefer: wait=10\r\n'),
  operations: (operations) => callTraffic((index) => operations[index % operations.length] as string),
  registry: () => getTraffic('', '200', '{"callVersion":'),
  registryUnchanged: () => getTraffic('If-None-Match: *\r\n', '304', ''),
  registryGzip: () => getTraffic('Accept-Encoding: gzip\r\n', '200', ''),
  toolList: () =>
    repeated(postRequest(TOOL_LIST.path, TOOL_LIST.body, headerLines(TOOL_LIST.headers)), '200', '{"jsonrpc":'),
} satisfies Record<string, Traffic>

export type TrafficName = keyof typeof TRAFFIC

function callTraffic(operationAt: (index: number) => string, headers = ''): () => Exchange {
  // Durable calls of an earlier run are still stored, so ids must be unique across runs.
  const prefix = `bench-${process.pid}-${run++}-`
  let index = 0
  return () => {
    const a = index % 1000
    const requestId = prefix + index
    const { request } = callRequest(operationAt(index), { a, b: 1000 }, requestId, headers)
    index++
    return { request, status: '200', bodyStart: `{"requestId":"${requestId}","state":"complete","result":${a + 1000}` }
  }
}

export function callRequest(
  op: string,
  args: unknown,
  requestId: string,
  headers = '',
): { request: string; body: string } {
  const body = JSON.stringify({ op, args, ctx: { requestId } })
  return { request: postRequest('/call', body, `Content-Type: application/json\r\n${headers}`), body }
}

function addTraffic(wire: Wire): () => Exchange {
  const prefix = `bench-${process.pid}-${run++}-`
  const headers = headerLines(headersOf(wire))
  let index = 0
  return () => {
    const a = index % 1000
    const id = prefix + index++
    const sum = a + 1000
    return {
      request: postRequest(wire.path, JSON.stringify(wire.body({ a, b: 1000 }, id)), headers),
      status: '200',
      bodyStart: wire.start(sum, id),
      ...(wire.end && { bodyEnd: wire.end(sum) }),
    }
  }
}

function headerLines(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
}

function postRequest(path: string, body: string, headers: string): string {
  return `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`
}

function getTraffic(headers: string, status: string, bodyStart: string): () => Exchange {
  return repeated(`GET /.well-known/ops HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers}\r\n`, status, bodyStart)
}

function repeated(request: string, status: string, bodyStart: string): () => Exchange {
  return () => ({ request, status, bodyStart })
}
