/** What an attacker needs of a carrier. Each carrier is one row of `index.ts`. */
import type { ServerOptions } from 'callplane'
import type { ResponseEnvelope } from '../../../../src/protocols/opencall/wire.ts'
import { createMemoryLog, type LogLine } from '../../../../src/testing/fakes/memory-log.ts'
import type { TestEngine } from '../../../engines/engines.ts'
import { type Site, startSite } from '../../server.ts'
import type { OperationList, Person, Seen, Try } from '../scopes.ts'

export interface Envelope {
  op: string
  args?: object
  ctx?: { requestId?: string; sessionId?: string; idempotencyKey?: string }
}

export type Who = Pick<Person, 'subject' | 'token'>

/** The frames of a stream. */
export interface Frames {
  next(): Promise<{ id: string; operation: string; state: string }>
}

/** A started server, as its callers reach it over the carrier. */
export interface Reached {
  /** Every way to name and call an operation that the carrier has. */
  ways: Readonly<Record<string, (of: Try) => Promise<Seen>>>
  /** Everything that lists operations over the carrier. */
  lists?: readonly OperationList[]
  /** Sends an envelope with the credential of this caller. Resolves with the first response. */
  send(who: Who, envelope: Envelope): Promise<Answered>
  /** Requests a path with these headers. A header with a list is sent several times. Only over HTTP. */
  get?(path: string, headers: Record<string, string | string[]>): Promise<{ status: number; body: string }>
  /** Absent if the carrier brings no frames. */
  watch?(who: Who, envelope: Envelope): Promise<Frames>
  /**
   * Sends an envelope as it is, without a credential, and with headers beside it if the carrier has such. Absent if the
   * connection has the credential.
   */
  sendText?(text: string, headers: Readonly<Record<string, string>>): Promise<Answered>
}

/** The response, with what the carrier adds to it. */
export type Answered = Partial<ResponseEnvelope> & Record<string, unknown>

export interface Carrier {
  /** `undefined`: needs none. */
  engine?: TestEngine
  /** Started once for all tests of the carrier. */
  start?(): Promise<AsyncDisposable>
  /** Called for each server. */
  prepare(): Prepared
}

export interface Prepared {
  options: Partial<ServerOptions>
  /** `portOf` finds the port in the log line with this message. */
  reach(site: Site, portOf: (message: string) => number): Promise<Reached>
}

export async function openReached(carrier: Carrier, options: ServerOptions): Promise<Reached & { site: Site }> {
  const lines: LogLine[] = []
  const { options: own, reach } = carrier.prepare()
  const site = await startSite({ ...options, ...own, log: createMemoryLog(lines) })
  const portOf = (message: string) => Number(lines.find((line) => line.message === message)?.fields.port)
  return { ...(await reach(site, portOf)), site }
}

/** As a carrier without connections of known callers wants it. */
export function authOf({ subject, token }: Who): object {
  const claims = { iss: 'callplane', sub: subject, credentialType: 'bearer' }
  return token === undefined ? claims : { ...claims, credential: token }
}

/** A new id for each try: answers hide ids from the comparison. */
export function envelopeOf({ op, args }: Pick<Try, 'op' | 'args'>): Required<Envelope> {
  return { op, args, ctx: { requestId: crypto.randomUUID(), idempotencyKey: crypto.randomUUID() } }
}

/** As OpenCALL's later revision names it: `callplane.calls.list:v1`. */
export const versionLast = (op: string) => `${op.slice(3)}:${op.slice(0, 2)}`

/** The ways of every carrier of envelopes. */
export function envelopeWays(send: Reached['send']): Reached['ways'] {
  return {
    'an envelope': ({ who, op, args }) => send(who, envelopeOf({ op, args })),
    'a full version': ({ who, op, args }) => send(who, envelopeOf({ op: `${op}@1.0.0`, args })),
    'the version last': ({ who, op, args }) => send(who, envelopeOf({ op: versionLast(op), args })),
    'a stream elsewhere': ({ who, op, args }) => send(who, envelopeOf({ op, args: { ...args, transport: 7 } })),
  }
}

/** For carriers that do not deliver an envelope twice, or that have an id of their own for it. */
export function unnamedWay(send: Reached['send']): Reached['ways'] {
  return { 'no request id': ({ who, op, args }) => send(who, { op, args }) }
}

/** Messages that arrive, and those who wait for one. */
export class Arrivals<Message> {
  readonly #arrived: Message[] = []
  readonly #waiting: ((message: Message) => void)[] = []

  add(message: Message): void {
    const waiter = this.#waiting.shift()
    if (waiter) waiter(message)
    else this.#arrived.push(message)
  }

  async next(): Promise<Message> {
    const [message] = this.#arrived.splice(0, 1)
    return message ?? new Promise((resolve) => this.#waiting.push(resolve))
  }
}
