/**
 * Signed requests to one bucket, repeated when the failure may pass: broken connections, timeouts, 500, 503, `SlowDown`.
 * Every request that this store sends can be repeated without harm. Redirects are never followed, because the signature
 * and the credentials are for one place.
 */
import { hash } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Fault } from '../../../core/fault.ts'
import type { Clock, Log } from '../../../core/ports/runtime.ts'
import type { CurrentCredentials } from '../credentials/renewal.ts'
import type { S3Credentials } from '../credentials/source.ts'
import type { Endpoint, S3Target } from '../target.ts'
import { createWire, type Timeouts } from './exchange.ts'
import { createFailureLog } from './failure-log.ts'
import {
  credentialsFault,
  isOutdatedKey,
  isPassing,
  isWrongClock,
  type Problem,
  problemFault,
  readProblem,
  unreachable,
} from './problems.ts'
import { createSigner, EMPTY_HASH, encodePath, encodeQuery } from './sigv4.ts'

export interface S3Request {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  /** Absent: the bucket itself. */
  key?: string
  query?: Readonly<Record<string, string>>
  headers?: Readonly<Record<string, string>>
  body?: Uint8Array
  /** SHA-256 of the body in hex, if it is known. */
  bodyHash?: string
  /** Statuses that are results, besides 200 to 299. */
  accept?: readonly number[]
  /** The largest response that is read. Default: 8 MiB, which is more than a page of 1,000 keys. */
  maxBytes?: number
}

export interface S3Response {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

export interface S3Stream extends Omit<S3Response, 'body'> {
  bytes: AsyncGenerator<Buffer, void, void>
}

export interface S3Client {
  /** Reads the whole response. */
  send(request: S3Request): Promise<S3Response>
  /** Returns as soon as the response begins. The caller must start to read `bytes`. */
  open(request: S3Request): Promise<S3Stream>
  /** An address of this object that works without a credential for this long. */
  presign(key: string, query: Readonly<Record<string, string>>, forSeconds: number): Promise<string>
  close(): void
}

export interface ClientParts {
  target: S3Target
  credentials: CurrentCredentials
  clock: Pick<Clock, 'now' | 'monotonicMs' | 'schedule'>
  random(): number
  log: Pick<Log, 'warn'>
  maxConnections: number
  timeouts: Timeouts
}

const MAX_TRIES = 5
/** No further try starts after this time. */
const PATIENCE_MS = 30_000
const BACK_OFF_MS = 100
const MAX_BACK_OFF_MS = 5_000
const MAX_RESPONSE_BYTES = 8 * 1024 * 1024
const MAX_ERROR_BYTES = 64 * 1024

export function createClient(parts: ClientParts): S3Client {
  const { target, credentials, clock, random } = parts
  const { endpoint, publicEndpoint, region } = target
  const wire = createWire(endpoint, parts.maxConnections, parts.timeouts)
  const signer = createSigner(region)
  const logFailure = createFailureLog(clock, parts.log)
  /** How far S3's clock is ahead of ours, once S3 has refused a request because of it. */
  let aheadMs = 0

  async function once(request: S3Request, key: S3Credentials, streamed: boolean): Promise<IncomingMessage> {
    const { method, query = {}, headers = {}, body } = request
    const path = pathOf(endpoint, request.key)
    const bodyHash = request.bodyHash ?? (body ? hash('sha256', body) : EMPTY_HASH)
    const signed = signer.sign(
      { method, host: endpoint.host, path, query, headers },
      bodyHash,
      key,
      clock.now() + aheadMs,
    )
    if (body || method === 'PUT' || method === 'POST') signed['content-length'] = String(body?.length ?? 0)
    const search = encodeQuery(query)
    return wire.send({
      method,
      path: search === '' ? path : `${path}?${search}`,
      headers: signed,
      streamed,
      ...(body && { body }),
    })
  }

  /** `take` reads the response. If that fails, the request is repeated as well. */
  async function repeated<T>(
    request: S3Request,
    streamed: boolean,
    take: (response: IncomingMessage) => Promise<T>,
  ): Promise<T> {
    const startedMs = clock.monotonicMs()
    let corrections = 0
    for (let tries = 1; ; tries++) {
      const key = await currentKey()
      let failure: unknown
      let problem: Problem | undefined
      let wrongClock = false
      try {
        const response = await once(request, key, streamed)
        const { statusCode: status = 0 } = response
        if ((status >= 200 && status < 300) || request.accept?.includes(status)) return await take(response)
        problem = readProblem(status, response.headers, await errorText(response))
        const skewMs = aheadOf(response, clock.now())
        wrongClock = isWrongClock(problem, skewMs - aheadMs)
        if (wrongClock) aheadMs = skewMs
      } catch (thrown) {
        if (thrown instanceof Fault) throw thrown
        if (thrown instanceof LateProblem) problem = thrown.problem
        failure = thrown
      }
      const outdatedKey = problem !== undefined && isOutdatedKey(problem)
      if (outdatedKey) credentials.outdated(key)
      const correctable = (outdatedKey || wrongClock) && corrections++ === 0
      const worthIt = correctable || !problem || isPassing(problem)
      const waited = clock.monotonicMs() - startedMs
      if (!worthIt || tries >= MAX_TRIES || waited >= PATIENCE_MS) {
        const fault = problem ? problemFault(problem, target) : unreachable(failure)
        logFailure(fault)
        throw fault
      }
      if (!correctable) await pause(random() * Math.min(MAX_BACK_OFF_MS, BACK_OFF_MS * 2 ** tries))
    }
  }

  async function currentKey(): Promise<S3Credentials> {
    try {
      return await credentials.get()
    } catch (thrown) {
      const fault = credentialsFault(thrown)
      logFailure(fault)
      throw fault
    }
  }

  /** Full jitter, so that many nodes do not return at the same moment. */
  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => void clock.schedule(ms, resolve))
  }

  async function bodyOf(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
    const pieces: Buffer[] = []
    let length = 0
    for await (const piece of wire.bytesOf(response)) {
      length += piece.length
      if (length > maxBytes) throw unreachable(new Error(`S3 sent more than ${maxBytes} bytes`))
      pieces.push(piece)
    }
    return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)
  }

  /** A longer text is not an error of S3, so it is left unread. */
  async function errorText(response: IncomingMessage): Promise<string> {
    let text = ''
    for await (const piece of wire.bytesOf(response)) {
      text += piece.toString('utf8')
      if (text.length > MAX_ERROR_BYTES) return ''
    }
    return text
  }

  return {
    send: (request) =>
      repeated(request, false, async (response) => {
        const { statusCode: status = 0, headers } = response
        const body = await bodyOf(response, request.maxBytes ?? MAX_RESPONSE_BYTES)
        if (request.method === 'POST' && status < 300) refuseLateProblem(status, headers, body)
        return { status, headers, body }
      }),
    open: (request) =>
      repeated(request, true, async (response) => {
        const { statusCode: status = 0, headers } = response
        // The text of an accepted error is not needed. It is short, and reading it frees the connection.
        if (status >= 300) await errorText(response)
        return { status, headers, bytes: wire.bytesOf(response) }
      }),
    async presign(key, query, forSeconds) {
      const { secure, host } = publicEndpoint
      const path = pathOf(publicEndpoint, key)
      const request = { method: 'GET', host, path, query }
      const signed = signer.presign(request, forSeconds, await currentKey(), clock.now() + aheadMs)
      return `${secure ? 'https' : 'http'}://${host}${path}?${encodeQuery(signed)}`
    },
    close: () => wire.close(),
  }
}

/** S3 may send an error with status 200, because it starts to respond before it has finished. */
class LateProblem extends Error {
  readonly problem: Problem

  constructor(problem: Problem) {
    super(problem.code)
    this.problem = problem
  }
}

function refuseLateProblem(status: number, headers: IncomingHttpHeaders, body: Buffer): void {
  if (/^\s*(?:<\?[^>]*\?>\s*)?<Error[\s>]/.test(body.toString('utf8', 0, 200)))
    throw new LateProblem(readProblem(status, headers, body.toString('utf8')))
}

function pathOf({ basePath }: Endpoint, key = ''): string {
  return `${basePath}/${encodePath(key)}`
}

function aheadOf({ headers }: IncomingMessage, nowMs: number): number {
  const date = Date.parse(headers.date ?? '')
  return Number.isNaN(date) ? 0 : date - nowMs
}
