/** What the load generator sends and what it must get back. Every call has arguments and a request id of its own. */

export interface Exchange {
  /** The whole request, as it goes on the wire. */
  request: string
  status: string
  bodyStart: string
  /** Of a body that begins with an id the server chose. */
  bodyEnd?: string
}

/** Made once per run; each call gives the next request. */
type Traffic = (operations: readonly string[]) => () => Exchange

let run = 0

export const TRAFFIC = {
  sync: () => callTraffic(() => 'v1:Calculator.Add'),
  async: () => callTraffic(() => 'v1:Calculator.AddLater', 'Prefer: wait=10\r\n'),
  operations: (operations) => callTraffic((index) => operations[index % operations.length] as string),
  tools: () => toolTraffic(),
  rest: () => namedToolTraffic(),
  registry: () => getTraffic('', '200', '{"callVersion":'),
  registryUnchanged: () => getTraffic('If-None-Match: *\r\n', '304', ''),
  registryGzip: () => getTraffic('Accept-Encoding: gzip\r\n', '200', ''),
} satisfies Record<string, Traffic>

export type TrafficName = keyof typeof TRAFFIC

function callTraffic(operationAt: (index: number) => string, headers = ''): () => Exchange {
  // Durable calls of an earlier run are still stored: an id must never come twice.
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
  return { request: postRequest('/call', body, headers), body }
}

function postRequest(path: string, body: string, headers = ''): string {
  return (
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n${headers}` +
    `Content-Length: ${body.length}\r\n\r\n${body}`
  )
}

/** Without a call_id: one that is sent is kept, as an idempotency key is. */
function toolTraffic(): () => Exchange {
  let index = 0
  return () => {
    const a = index++ % 1000
    const request = postRequest(
      '/tools/call',
      JSON.stringify({ tool_id: 'Calculator.Add@1.0.0', input: { a, b: 1000 } }),
    )
    return { request, status: '200', bodyStart: '{"call_id":"', bodyEnd: `,"success":true,"value":${a + 1000}}` }
  }
}

/** The name of the tool is in the path, and the body is its arguments. */
function namedToolTraffic(): () => Exchange {
  let index = 0
  return () => {
    const a = index++ % 1000
    const request = postRequest('/tools/Calculator_Add/call', JSON.stringify({ a, b: 1000 }))
    return { request, status: '200', bodyStart: `{"content":[{"type":"text","text":"${a + 1000}"}],` }
  }
}

function getTraffic(headers: string, status: string, bodyStart: string): () => Exchange {
  const request = `GET /.well-known/ops HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers}\r\n`
  return () => ({ request, status, bodyStart })
}
