/** OpenCALL on QUIC: on streams of a connection of each caller's own, and as HTTP/3. */
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { encodeRecord } from '../../../../src/wire/frames/records.ts'
import {
  type ClientStream,
  certificate,
  connectHttp3,
  connectRaw,
  type RawClient,
} from '../../../carriers/quic/client.ts'
import { recordsOf } from '../../../carriers/quic/records.ts'
import { quicLibrary } from '../../../engines/engines.ts'
import { ask, WITH_TASKS } from '../../mcp.ts'
import type { Site } from '../../server.ts'
import {
  type Answered,
  Arrivals,
  authOf,
  type Carrier,
  envelopeOf,
  envelopeWays,
  type Prepared,
  type Reached,
  unnamedWay,
  type Who,
} from './carrier.ts'

function prepared(reach: Prepared['reach']): Prepared {
  const { cert, key } = certificate()
  return { options: { tls: { cert, key }, quic: { port: 0, rawPort: 0 } }, reach }
}

const textOf = (content: Uint8Array | undefined) => new TextDecoder().decode(content)

export const quicStreams: Carrier = { engine: quicLibrary, prepare: () => prepared(reachStreams) }

async function reachStreams(_site: Site, portOf: (message: string) => number): Promise<Reached> {
  const port = portOf('serving raw QUIC streams')
  const clients = new Map<string, Promise<{ client: RawClient; theirs: Arrivals<ClientStream> }>>()
  const connect = async () => {
    const client = await connectRaw(port)
    const theirs = new Arrivals<ClientStream>()
    client.on('stream', (stream: ClientStream) => theirs.add(stream.on('error', () => undefined)))
    onTestFinished(() => client.close())
    return { client, theirs }
  }
  const clientOf = ({ subject, token = subject }: Who) => {
    const client = clients.get(token) ?? connect()
    clients.set(token, client)
    return client
  }
  const write = async (who: Who, ...texts: string[]): Promise<Answered> => {
    const { client } = await clientOf(who)
    const stream = client.openStream()
    stream.on('error', () => undefined)
    const records = recordsOf(stream)
    let answer: Answered = {}
    for (const text of texts) {
      stream.write(encodeRecord('envelope', text))
      answer = JSON.parse(textOf((await records.next())?.content))
    }
    stream.end()
    return answer
  }
  const send: Reached['send'] = (who, envelope) => write(who, JSON.stringify({ ...envelope, auth: authOf(who) }))
  const plain = { op: 'v1:callplane.whoami', args: {} }
  return {
    send,
    sendText: (text) => write({ subject: 'unknown' }, text),
    ways: {
      ...envelopeWays(send),
      ...unnamedWay(send),
      'a stream with an earlier envelope': ({ who, op, args }) =>
        write(who, JSON.stringify({ ...plain, auth: authOf(who) }), JSON.stringify(envelopeOf({ op, args }))),
    },
    async watch(who, envelope) {
      await send(who, envelope)
      const { theirs } = await clientOf(who)
      const records = recordsOf(await theirs.next())
      return {
        async next() {
          for (;;) {
            const record = await records.next()
            if (record?.kind === 'frame') return JSON.parse(textOf(record.content))
            if (!record) throw new Error('The stream has ended.')
          }
        },
      }
    },
  }
}

/** The addresses that replace the built-in operations of other carriers. */
const ADDRESSES: Readonly<Record<string, (id: string) => [path: string, method: string]>> = {
  'v1:getOperation': (id) => [`/ops/${id}`, 'GET'],
  'v1:cancelOperation': (id) => [`/ops/${id}`, 'DELETE'],
  'v1:getChunk': (id) => [`/ops/${id}/chunks`, 'GET'],
}

export const http3: Carrier = { engine: quicLibrary, prepare: () => prepared(reachHttp3) }

async function reachHttp3(_site: Site, portOf: (message: string) => number): Promise<Reached> {
  const connection = await connectHttp3(portOf('serving HTTP/3'))
  onTestFinished(() => connection.close())
  const headersOf = ({ token }: Who): Record<string, string> =>
    token === undefined ? {} : { Authorization: `Bearer ${token}` }
  const request = (path: string, init: RequestInit = {}) => connection.send(path, init)
  const answered = async (response: Response): Promise<Answered> => ({
    status: response.status,
    ...JSON.parse((await response.text()) || '{}'),
  })
  const send: Reached['send'] = async (who, envelope) => {
    const { requestId } = (envelope.args ?? {}) as { requestId?: string }
    const address = ADDRESSES[envelope.op]?.(String(requestId))
    if (address) return answered(await request(address[0], { method: address[1], headers: headersOf(who) }))
    const headers = { 'Content-Type': 'application/json', ...headersOf(who) }
    return answered(await request('/call', { method: 'POST', headers, body: JSON.stringify(envelope) }))
  }
  const document = (path: string) => async (who: Who) => {
    const response = await request(path, { headers: headersOf(who) })
    return response.text()
  }
  return {
    send,
    async get(path, headers) {
      const stream = connection.open(path, headers, false)
      const [[fields], body] = await Promise.all([once(stream, 'response'), text(stream)])
      return { status: Number(fields[':status']), body }
    },
    lists: [
      { offers: 'all', read: document('/.well-known/ops') },
      { offers: 'all', read: document('/openapi.json') },
      { offers: 'none', read: document('/tools') },
    ],
    ways: {
      ...envelopeWays(send),
      ...unnamedWay(send),
      'an auth block': ({ who, op, args }) => send(who, { ...envelopeOf({ op, args }), ...{ auth: authOf(who) } }),
      'a path': async ({ who, op, args }) => {
        const headers = { 'Content-Type': 'application/json', ...headersOf(who) }
        const path = `/ops/${op.slice(3).replaceAll('.', '/')}/v1`
        return answered(await request(path, { method: 'POST', headers, body: JSON.stringify({ args }) }))
      },
      MCP: async ({ who, tool, args }) => {
        const asking = { headers: who.headers, capabilities: WITH_TASKS }
        const { status, json } = await ask({ request }, 'tools/call', { name: tool, arguments: args }, asking)
        return { status, json }
      },
    },
  }
}
