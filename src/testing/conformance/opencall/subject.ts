/** Client of the server under test: plain HTTP, with a check of every received envelope. */
import { randomUUID } from 'node:crypto'
import type { JsonValue } from '../../../core/json.ts'
import { type JsonMembers, must, mustBeObject } from '../assertions.ts'
import { type Parts, Skip, type Target } from '../case.ts'
import { type HttpAnswer, parseJson, type RequestInfo, sendTo } from '../http.ts'
import { describePart, nameOf, type Part } from '../parts.ts'
import { checkEnvelope, type Envelope, type Sent } from './envelope.ts'

export interface Answered extends HttpAnswer {
  envelope: Envelope
}

export interface OpenCallPart extends Part {
  entry: JsonMembers
}

/** No server has an operation of this name. */
export const NO_OPERATION = 'v1:No.SuchOperation'

export class Subject {
  readonly target: Target
  readonly #shared: Map<string, Promise<unknown>>

  constructor(target: Target) {
    this.target = target
    this.#shared = target.shared ?? new Map()
  }

  send(where: string, request: RequestInfo = {}): Promise<HttpAnswer> {
    return sendTo(this.target, where, request)
  }

  /** Expects an envelope in the response, whatever the outcome. */
  async ask(where: string, request: RequestInfo = {}, sent: Sent = {}): Promise<Answered> {
    const answer = await this.send(where, request)
    return { ...answer, envelope: checkEnvelope(answer, sent) }
  }

  post(body: NonNullable<RequestInfo['body']>, request: RequestInfo = {}, sent: Sent = {}): Promise<Answered> {
    return this.ask('/call', { ...request, method: 'POST', body }, sent)
  }

  /** Sends a JSON envelope, and checks that the response has its ids. */
  call(envelope: JsonMembers, request: RequestInfo = {}): Promise<Answered> {
    const headers = { 'content-type': 'application/json', ...request.headers }
    return this.post(JSON.stringify(envelope), { ...request, headers }, sentBy(envelope))
  }

  /** Calls an operation with valid arguments, and with a key if it has effects. */
  invoke({ op, args, entry }: OpenCallPart, envelope: JsonMembers = {}, request: RequestInfo = {}): Promise<Answered> {
    const key = needsKey(entry) ? { requestId: randomUUID(), idempotencyKey: randomUUID() } : undefined
    const ctx = { ...key, ...(envelope.ctx as JsonMembers | undefined) }
    return this.call({ op, args, ...envelope, ...(Object.keys(ctx).length > 0 && { ctx }) }, request)
  }

  /** The operation with a role, as the registry lists it. */
  async part(part: keyof Parts): Promise<OpenCallPart> {
    const name = nameOf(this.target, part)
    const found = (await this.operations()).find((entry) => entry.op === name)
    if (!found) throw new Skip(`The server has no operation ${name}.`)
    return this.describe(name, found)
  }

  describe(op: string, entry: JsonMembers): OpenCallPart {
    const schemas = { args: entry.argsSchema as JsonValue, result: entry.resultSchema as JsonValue }
    return { ...describePart(this.target, op, schemas), entry }
  }

  async operations(): Promise<JsonMembers[]> {
    const { operations } = await this.registry()
    must(Array.isArray(operations), '/.well-known/ops has no array "operations".')
    const entries = operations.map((entry, index) => mustBeObject(entry, `operations[${index}]`))
    // A server may list removed operations, too; such an entry has only a name.
    return entries.filter(({ removed }) => removed !== true)
  }

  registry(): Promise<JsonMembers> {
    const known = this.#shared.get('registry') ?? this.send('/.well-known/ops').then(parseJson)
    this.#shared.set('registry', known)
    return known as Promise<JsonMembers>
  }
}

export function needsKey({ sideEffecting, idempotencyRequired }: JsonMembers): boolean {
  return idempotencyRequired === true || sideEffecting !== false
}

export function sentBy(envelope: JsonMembers): Sent {
  const { requestId, sessionId } = (envelope.ctx ?? {}) as Sent
  return {
    ...(typeof requestId === 'string' && { requestId }),
    ...(typeof sessionId === 'string' && { sessionId }),
  }
}
