/** "Stream Subscription Lifecycle": subscribing, reading over a WebSocket, and ending. */
import type { JsonValue } from '../../../../core/json.ts'
import {
  ideally,
  type JsonMembers,
  must,
  mustBeEpochSeconds,
  mustBeObject,
  mustBeOneOf,
  mustBeText,
  mustEqual,
  should,
  shown,
} from '../../assertions.ts'
import { NotApplicable } from '../../case.ts'
import { createSchemaCheck } from '../../schema-check.ts'
import { defineCase } from '../define.ts'
import { awaitEnd } from '../following.ts'
import type { SocketMessage } from '../sockets.ts'
import { connectTo, socketWish, whileSubscribed } from '../subscribing.ts'

const TRANSPORTS = ['wss', 'mqtt', 'kafka', 'webrtc', 'quic']
/** A caller of this one must send an offer, too. */
const NEEDS_OFFER = 'webrtc'
const ENCODINGS = ['protobuf', 'json', 'cbor', 'binary']
const CREDENTIALS = ['bearer', 'apiKey', 'otk', 'mTLS']

const checkFrame = createSchemaCheck()

export const streamCases = [
  defineCase(
    'stream-accepted',
    'a call of a stream is 202, streaming, and says where and how to read it',
    [54, 59, 64, 65, 66, 67, 68, 69, 74, 76, 99, 195, 300],
    async (server) => {
      await whileSubscribed(server, async ({ answer, stream, ids }) => {
        mustEqual(answer.envelope.state, 'streaming', 'state')
        mustEqual(answer.headers.get('location'), null, 'The header Location')
        mustBeText(stream.transport, 'stream.transport')
        mustBeOneOf(stream.encoding, ENCODINGS, 'stream.encoding')
        mustBeText(stream.schema, 'stream.schema')
        must(URL.canParse(mustBeText(stream.location, 'stream.location')), 'stream.location is not an absolute URI.')
        mustEqual(stream.sessionId, ids.sessionId, 'stream.sessionId')
        if (stream.expiresAt !== undefined) mustBeEpochSeconds(stream.expiresAt, 'stream.expiresAt')
        if (stream.auth !== undefined) {
          const auth = mustBeObject(stream.auth, 'stream.auth')
          mustBeOneOf(auth.credentialType, CREDENTIALS, 'stream.auth.credentialType')
          if (auth.expiresAt !== undefined) mustBeEpochSeconds(auth.expiresAt, 'stream.auth.expiresAt')
        }
        ideallyKnown(stream.transport, 'stream.transport')
      })
    },
  ),

  defineCase(
    'stream-is-an-instance',
    'a stream is found at /ops/{requestId} while it runs',
    [208, 296],
    async (server) => {
      await whileSubscribed(server, async ({ ids }) => {
        const { envelope } = await server.ask(`/ops/${ids.requestId}`, {}, ids)
        mustEqual(envelope.state, 'streaming', `state of a poll of the stream ${ids.requestId}`)
      })
    },
  ),

  defineCase(
    'stream-negotiated',
    'the caller chooses among the transports and the encodings of the registry',
    [269, 270],
    async (server) => {
      const { entry } = await server.part('stream')
      const wishes = {
        transport: namesIn(entry, 'supportedTransports').filter((name) => name !== NEEDS_OFFER),
        encoding: namesIn(entry, 'supportedEncodings'),
      }
      for (const [field, name] of Object.entries(wishes).flatMap(([of, names]) =>
        names.map((each) => [of, each] as const),
      )) {
        await whileSubscribed(
          server,
          async ({ stream }) => mustEqual(stream[field], name, `stream.${field}`),
          () => ({ [field]: name }),
        )
      }
    },
    'should',
  ),

  defineCase(
    'stream-frames',
    'frames arrive at stream.location with the given credential, bare and as the schema says',
    [71, 101, 196],
    async (server) => {
      await whileSubscribed(
        server,
        async ({ part, stream }) => {
          const socket = await connectTo(server, stream)
          should(socket !== undefined, `${String(stream.location)} refuses the credential of the response.`)
          const frame = await socket.next('The first frame')
          await socket.close()
          must(frame !== undefined, 'The connection was closed before the first frame.')
          if (stream.encoding !== 'json' || part.entry.frameIntegrity === true) return
          const [issue] = checkFrame(part.entry.frameSchema as JsonValue, parsed(frame))
          if (issue === undefined || issue.keyword === 'schema') return
          must(false, `A frame does not match frameSchema: ${issue.path || '/'} ${issue.message}.`)
        },
        socketWish,
      )
    },
  ),

  defineCase('stream-key-once', 'a one-time key lets one reader connect, once', [74, 75], async (server) => {
    await whileSubscribed(
      server,
      async ({ stream }) => {
        if ((stream.auth as { credentialType?: unknown } | undefined)?.credentialType !== 'otk') {
          throw new NotApplicable('The server issues no one-time keys for streams.')
        }
        const first = await connectTo(server, stream)
        const second = await connectTo(server, stream)
        await first?.close()
        const frame = await second?.next('A frame, or the end of the connection')
        await second?.close()
        must(frame === undefined, 'A one-time key was accepted a second time.')
      },
      socketWish,
    )
  }),

  defineCase(
    'stream-unsubscribed',
    'unsubscribeFromStream ends the stream and closes the connection',
    [204, 205],
    async (server) => {
      await whileSubscribed(
        server,
        async ({ stream, ids, unsubscribe }) => {
          const socket = await connectTo(server, stream)
          const { envelope } = await unsubscribe()
          must(envelope.state !== 'error', `unsubscribeFromStream fails with ${envelope.error?.code}.`)
          await socket?.ended('The end of the connection after unsubscribeFromStream')
          await awaitEnd(server, `/ops/${ids.requestId}`)
        },
        socketWish,
      )
    },
  ),

  defineCase(
    'stream-entries',
    'the registry describes the frames of streams, and of streams only',
    [211, 250, 259, 260, 261],
    async (server) => {
      await server.part('stream')
      for (const entry of await server.operations()) {
        const of = (field: string) => `${field} of ${String(entry.op)}`
        if (entry.executionModel !== 'stream') {
          must(entry.frameSchema === undefined, `${of('frameSchema')} is there, but it is not a stream.`)
          continue
        }
        mustBeObject(entry.frameSchema, of('frameSchema'))
        for (const name of namesIn(entry, 'supportedEncodings')) mustBeOneOf(name, ENCODINGS, of('supportedEncodings'))
        mustBeOneOf(entry.frameIntegrity, [true, false, undefined], of('frameIntegrity'))
        for (const name of namesIn(entry, 'supportedTransports')) ideallyKnown(name, of('supportedTransports'))
      }
    },
  ),
]

function namesIn(entry: JsonMembers, field: string): unknown[] {
  const names = entry[field]
  must(Array.isArray(names) && names.length > 0, `${field} of ${String(entry.op)} is not a list of names.`)
  return names
}

/** The specification gives its list as examples, and allows new transports. */
function ideallyKnown(transport: unknown, what: string): void {
  const known = TRANSPORTS.join(', ')
  ideally(TRANSPORTS.includes(transport as string), `${what} is ${shown(transport)}. Clients may know only ${known}.`)
}

function parsed(frame: SocketMessage): JsonValue | undefined {
  const text = typeof frame === 'string' ? frame : new TextDecoder().decode(frame)
  try {
    return JSON.parse(text)
  } catch {
    must(false, `A frame of a JSON stream is not JSON: ${text.slice(0, 100)}`)
  }
}
