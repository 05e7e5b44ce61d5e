/** A Kafka client in Python, which shares no code with ours: it sends envelopes and collects what arrives. */
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { ResponseEnvelope } from '../../../src/protocols/opencall/wire.ts'
import { hashToken } from '../../../src/security/identity/tokens.ts'
import { PYTHON } from '../../engines/engines.ts'
import { spawnTiedReader } from '../../engines/tied-process.ts'

export interface PeerMessage {
  topic: string
  partition: number
  key: string | null
  value: Buffer
  headers: Record<string, string>
}

export interface PeerSending {
  topic?: string
  key?: string
  headers?: Record<string, string>
}

export interface Peer extends AsyncDisposable {
  /** Resolves when the broker has the message. */
  send(value: string | Uint8Array, sending?: PeerSending): Promise<void>
  /** The same for this many bytes of no meaning. */
  sendSize(bytes: number, sending?: PeerSending): Promise<void>
  /** Sends an envelope, with an `auth` block and its operation as the key. */
  call(op: string, args?: object, ctx?: object, sending?: PeerSending & { auth?: object | null }): Promise<void>
  readonly received: readonly PeerMessage[]
  /** The first message that fits, now or later. */
  find(fits: (message: PeerMessage) => boolean): Promise<PeerMessage>
  /** The envelope about this request in this state, now or later. */
  reply(requestId: string, state: string): Promise<ResponseEnvelope>
  /** Resolves when this holds. It is checked after every message. */
  until(condition: () => boolean): Promise<void>
}

export const AUTH = {
  iss: 'tests',
  sub: 'peer',
  credentialType: 'bearer',
  credential: 'peer-token-of-at-least-thirty-two-characters',
}

export const PEER_TOKEN = { hash: hashToken(AUTH.credential), kind: 'bearer', subject: 'peer', scopes: [] } as const

export async function startPeer(
  address: string,
  topics: readonly string[],
  settings: Readonly<Record<string, string>> = {},
): Promise<Peer> {
  const script = join(import.meta.dirname, 'peer.py')
  const child = spawnTiedReader([PYTHON, '-B', script, address, JSON.stringify(settings), ...topics])
  const received: PeerMessage[] = []
  const deliveries = new Map<number, PromiseWithResolvers<void>>()
  const waiting = new Set<() => void>()
  const ready = Promise.withResolvers<void>()
  let errors = ''
  let sent = 0
  child.stderr.on('data', (piece) => {
    errors += piece
  })
  child.once('close', () => ready.reject(new Error(errors)))
  createInterface({ input: child.stdout }).on('line', (line) => {
    const told = JSON.parse(line)
    if (told.ready) return ready.resolve()
    if (told.delivered !== undefined) {
      const delivery = deliveries.get(told.delivered)
      return told.error ? delivery?.reject(new Error(told.error)) : delivery?.resolve()
    }
    received.push({ ...told, value: Buffer.from(told.value, 'base64') })
    for (const look of waiting) look()
  })
  await ready.promise

  const produce = (what: object, { topic = 'callplane.ops', ...rest }: PeerSending) => {
    const delivery = Promise.withResolvers<void>()
    deliveries.set(sent++, delivery)
    child.stdin.write(`${JSON.stringify({ ...what, topic, ...rest })}\n`)
    return delivery.promise
  }
  const until = (condition: () => boolean) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (!condition()) return
        waiting.delete(look)
        resolve()
      }
      waiting.add(look)
      look()
    })
  const find = async (fits: (message: PeerMessage) => boolean) => {
    await until(() => received.some(fits))
    return received.find(fits) as PeerMessage
  }
  const send = (value: string | Uint8Array, sending: PeerSending = {}) =>
    produce({ value: Buffer.from(value as string).toString('base64') }, sending)
  return {
    received,
    send,
    sendSize: (size, sending = {}) => produce({ size }, sending),
    call: (op, args = {}, ctx = {}, { auth = AUTH, ...sending } = {}) =>
      send(JSON.stringify({ op, args, ctx, ...(auth && { auth }) }), { key: op, ...sending }),
    until,
    find,
    async reply(requestId, state) {
      const fits = ({ value }: PeerMessage) => {
        const envelope = envelopeIn(value)
        return envelope?.requestId === requestId && envelope.state === state
      }
      return envelopeIn((await find(fits)).value) as ResponseEnvelope
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
    },
  }
}

export function envelopeIn(value: Uint8Array): ResponseEnvelope | undefined {
  const text = Buffer.from(value).toString()
  return text.startsWith('{"requestId"') ? (JSON.parse(text) as ResponseEnvelope) : undefined
}
