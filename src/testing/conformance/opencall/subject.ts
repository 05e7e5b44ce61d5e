/** The server under test, as the cases talk to it: plain HTTP, with every envelope checked on the way in. */
import { type Fixtures, Skip, type Target } from '../case.ts'
import { type JsonMembers, must, mustBeObject } from './assertions.ts'
import { checkEnvelope, type Envelope, type HttpAnswer, parseJson, type Sent } from './envelope.ts'

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
}

/** A server that does not answer at all must not keep the suite for ever. */
const PATIENCE_MS = 30_000

export interface RequestInfo {
  method?: string
  headers?: Record<string, string>
  body?: Uint8Array<ArrayBuffer> | string | FormData
  /** Without the target's token. */
  anonymous?: boolean
}

export interface Answered extends HttpAnswer {
  envelope: Envelope
}

export class Subject {
  readonly target: Target
  readonly names: Fixtures
  readonly #root: string
  #registry: Promise<JsonMembers> | undefined

  constructor(target: Target) {
    this.target = target
    this.names = { ...QUICKSTART, ...target.operations }
    this.#root = target.url.replace(/\/+$/, '')
  }

  /** `where` is a path below the target's root, or a whole URI from an answer. */
  async send(where: string, { method = 'GET', headers, body, anonymous }: RequestInfo = {}): Promise<HttpAnswer> {
    const { token } = this.target
    const credential = token !== undefined && !anonymous ? { authorization: `Bearer ${token}` } : undefined
    const url = where.startsWith('/') ? this.#root + where : new URL(where, `${this.#root}/`)
    const response = await fetch(url, {
      method,
      headers: { ...credential, ...headers },
      redirect: 'manual',
      signal: AbortSignal.timeout(PATIENCE_MS),
      ...(body !== undefined && { body }),
    })
    const asked = `${method} ${where.startsWith('/') ? where : new URL(url).pathname}`
    return {
      asked,
      status: response.status,
      headers: response.headers,
      bytes: new Uint8Array(await response.arrayBuffer()),
    }
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

/** The answer, if it has the status it should have. */
export async function expectStatus<A extends HttpAnswer>(status: number, pending: Promise<A>): Promise<A> {
  const answer = await pending
  must(
    answer.status === status,
    () =>
      `${answer.asked} is answered ${answer.status}, not ${status}: ${new TextDecoder().decode(answer.bytes.subarray(0, 300))}`,
  )
  return answer
}
