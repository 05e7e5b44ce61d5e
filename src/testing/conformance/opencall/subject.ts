/** The server under test, as the cases talk to it: plain HTTP, with every envelope checked on the way in. */

import { type JsonMembers, must, mustBeObject } from '../assertions.ts'
import { type Fixtures, Skip, type Target } from '../case.ts'
import { type HttpAnswer, parseJson, type RequestInfo, sendTo } from '../http.ts'
import { checkEnvelope, type Envelope, type Sent } from './envelope.ts'

const QUICKSTART: Fixtures = {
  add: 'v1:Calculator.Add',
  deprecated: 'v1:Calculator.Sum',
  removed: 'v1:Greeter.Hello',
  successor: 'v2:Greeter.Hello',
  report: 'v1:Reports.Generate',
  chunked: 'v1:Orders.Export',
  describe: 'v1:Files.Describe',
  draw: 'v1:Pictures.Draw',
  note: 'v1:Notes.Add',
  ring: 'v1:Doorbell.Ring',
  versions: 'v1:Text.Shout',
}

export interface Answered extends HttpAnswer {
  envelope: Envelope
}

export class Subject {
  readonly target: Target
  readonly names: Fixtures
  #registry: Promise<JsonMembers> | undefined

  constructor(target: Target) {
    this.target = target
    this.names = { ...QUICKSTART, ...target.operations }
  }

  send(where: string, request: RequestInfo = {}): Promise<HttpAnswer> {
    return sendTo(this.target, where, request)
  }

  /** An envelope is expected back, whatever comes of it. */
  async ask(where: string, request: RequestInfo = {}, sent: Sent = {}): Promise<Answered> {
    const answer = await this.send(where, request)
    return { ...answer, envelope: checkEnvelope(answer, sent) }
  }

  post(body: NonNullable<RequestInfo['body']>, request: RequestInfo = {}, sent: Sent = {}): Promise<Answered> {
    return this.ask('/call', { ...request, method: 'POST', body }, sent)
  }

  /** Invokes with a JSON envelope, and holds the answer to the ids that were sent. */
  call(envelope: JsonMembers, request: RequestInfo = {}): Promise<Answered> {
    const headers = { 'content-type': 'application/json', ...request.headers }
    return this.post(JSON.stringify(envelope), { ...request, headers }, sentBy(envelope))
  }

  /** The operation that plays a part, as the registry lists it. */
  async part(part: keyof Fixtures): Promise<JsonMembers & { op: string }> {
    const name = this.names[part]
    const found = (await this.operations()).find((entry) => entry.op === name)
    if (!found) throw new Skip(`The server has no operation ${name}.`)
    return found as JsonMembers & { op: string }
  }

  async operations(): Promise<JsonMembers[]> {
    const { operations } = await this.registry()
    must(Array.isArray(operations), '/.well-known/ops has no array "operations".')
    return operations.map((entry, index) => mustBeObject(entry, `operations[${index}]`))
  }

  registry(): Promise<JsonMembers> {
    this.#registry ??= this.send('/.well-known/ops').then(parseJson)
    return this.#registry
  }
}

export function sentBy(envelope: JsonMembers): Sent {
  const { requestId, sessionId } = (envelope.ctx ?? {}) as Sent
  return {
    ...(typeof requestId === 'string' && { requestId }),
    ...(typeof sessionId === 'string' && { sessionId }),
  }
}
