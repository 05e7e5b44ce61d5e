/**
 * The client for remote tools. Unlike the fetcher, it goes where an operator's declaration says, keeps its connections
 * and sends credentials.
 */
import type { ClientRequest, IncomingMessage } from 'node:http'
import { Fault } from '../../core/fault.ts'
import type {
  RemoteAddress,
  RemoteAnswer,
  RemoteClient,
  RemoteRequest,
  RemoteStream,
} from '../../core/ports/outbound.ts'
import {
  declaredBytes,
  errorCode,
  GuardedHttp,
  type GuardOptions,
  isEncoded,
  type Outgoing,
  type Refusals,
  type Target,
} from './guarded-http.ts'

export interface ClosableRemoteClient extends RemoteClient {
  /** Resolves a host under the same rules, for users with their own connections. */
  lookup(hostname: string, allowPrivate: boolean): Promise<readonly RemoteAddress[]>
  /** Closes the kept connections and aborts running requests. */
  close(): void
}

export function createRemoteClient(options: GuardOptions = {}): ClosableRemoteClient {
  const guard = new GuardedHttp(toolRefusals, options)
  const targets = new Map<string, Target>()

  /** Parsing and checking an address costs about 4 µs, and most requests repeat an earlier one. */
  function targetAt(text: string, allowPrivate = false): Target {
    // A check under one rule does not hold under the other.
    const key = `${allowPrivate} ${text}`
    const known = targets.get(key)
    if (known) return known
    const target = guard.target(text, allowPrivate)
    if (targets.size >= MAX_TARGETS) targets.clear()
    targets.set(key, target)
    return target
  }

  return {
    lookup: (hostname, allowPrivate) => guard.lookup(hostname, allowPrivate),
    async send(sent) {
      const target = targetAt(sent.url, sent.allowPrivate)
      if (sent.signal.aborted) throw calledOff(sent.signal)
      const first = new Sending(guard, target, sent, 'kept')
      try {
        return await first.answer
      } catch (error) {
        if (!first.foundClosed || !isRepeatable(sent.method)) throw first.explain(error)
      }
      // The server had closed the kept connection. A request that is safe to repeat is sent again on a new connection.
      const second = new Sending(guard, target, sent, 'own')
      try {
        return await second.answer
      } catch (error) {
        throw second.explain(error)
      }
    },
    open({ method, url, headers, body, allowPrivate, signal }) {
      const target = targetAt(url, allowPrivate)
      return new Promise((resolve, reject) => {
        guard
          .start(target, { method, headers, body, connection: 'stream', signal })
          .once('error', reject)
          .once('response', (response) => {
            if (!isEncoded(response)) return resolve(streamOf(response))
            response.destroy()
            reject(encoded(target.url))
          })
      })
    },
    close: () => guard.close(),
  }
}

/** RFC 9110, "Idempotent Methods": the second of two equal requests changes nothing. */
function isRepeatable(method: RemoteRequest['method']): boolean {
  return method !== 'POST' && method !== 'PATCH'
}

function streamOf(response: IncomingMessage): RemoteStream {
  const { statusCode: status = 502, headers } = response
  return { status, headers, body: response, discard: () => void response.destroy() }
}

/** Limits the cache, because some addresses are used for one call only, such as those that poll a job. */
const MAX_TARGETS = 1_000

const decoder = new TextDecoder()

/** One request on one connection, up to the last byte of its response. */
class Sending {
  readonly #url: URL
  readonly #sent: RemoteRequest
  readonly #request: ClientRequest
  readonly #done = Promise.withResolvers<RemoteAnswer>()
  readonly #abort = () => this.#fail(calledOff(this.#sent.signal))
  #answering = false

  constructor(guard: GuardedHttp, target: Target, sent: RemoteRequest, connection: Outgoing['connection']) {
    this.#url = target.url
    this.#sent = sent
    const { method, headers, body } = sent
    this.#request = guard.start(target, { method, headers, body, connection })
    this.#request.on('response', (response) => this.#receive(response)).on('error', (error) => this.#fail(error))
    sent.signal.addEventListener('abort', this.#abort)
  }

  get answer(): Promise<RemoteAnswer> {
    return this.#done.promise
  }

  /** True if the connection was a kept one and closed before the first byte of a response. */
  get foundClosed(): boolean {
    return this.#request.reusedSocket && !this.#answering && !this.#sent.signal.aborted
  }

  #receive(response: IncomingMessage): void {
    this.#answering = true
    const { maxBytes } = this.#sent
    const { headers } = response
    const objection = objectionTo(response, this.#url, maxBytes)
    if (objection) {
      this.#fail(objection)
      return
    }
    const chunks: Buffer[] = []
    let bytes = 0
    response
      .on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > maxBytes) this.#fail(tooLarge(maxBytes))
        else chunks.push(chunk)
      })
      .on('error', (error) => this.#fail(error))
      .on('end', () => {
        this.#sent.signal.removeEventListener('abort', this.#abort)
        const whole = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)
        this.#done.resolve({
          status: response.statusCode ?? 0,
          header: (name) => textOf(headers[name.toLowerCase()]),
          text: decoder.decode(whole),
        })
      })
  }

  /** Also closes the connection, because the rest of the response is not read. */
  #fail(error: unknown): void {
    this.#sent.signal.removeEventListener('abort', this.#abort)
    this.#done.reject(error)
    this.#request.destroy()
  }

  /** Names only the host: the rest of an address may contain a secret. */
  explain(error: unknown): Fault {
    if (error instanceof Fault) return error
    const { host } = this.#url
    const code = errorCode(error)
    return new Fault('upstream', `${host} did not answer (${code}). Check that the tool is running and reachable.`, {
      details: { host, cause: code },
      cause: error,
    })
  }
}

function objectionTo(response: IncomingMessage, url: URL, maxBytes: number): Fault | undefined {
  if (declaredBytes(response) > maxBytes) return tooLarge(maxBytes)
  return isEncoded(response) ? encoded(url) : undefined
}

function textOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value
}

const toolRefusals: Refusals = {
  notAbsolute: () => refused('The address of the tool is not an absolute URL; write it as https://host/path.'),
  scheme: (protocol) => refused(`A tool cannot be called with ${protocol} here; use https.`),
  userInfo: () => refused('The address of the tool carries a user name or password; declare "auth" instead.'),
  address: (host) =>
    refused(
      `${host} is at an address that is not allowed for tools: a private one needs "allowPrivate: true" in its declaration, ` +
        'and link-local and metadata addresses are never called.',
    ),
}

function refused(message: string): Fault {
  return new Fault('upstream', message, { code: 'TARGET_REFUSED', retryable: false })
}

function calledOff({ reason }: AbortSignal): Fault {
  return reason instanceof Fault ? reason : new Fault('canceled', 'The request was canceled.', { cause: reason })
}

function tooLarge(maxBytes: number): Fault {
  return new Fault(
    'upstream',
    `The tool's response is larger than ${maxBytes} bytes. Change the tool to return less, or raise "maxBytes".`,
    { code: 'ANSWER_TOO_LARGE', retryable: false, details: { limit_bytes: maxBytes } },
  )
}

function encoded({ host }: URL): Fault {
  return new Fault(
    'upstream',
    `${host} compresses its response although the request asked for plain content. Configure it not to compress.`,
    {
      code: 'ANSWER_ENCODED',
      retryable: false,
    },
  )
}
